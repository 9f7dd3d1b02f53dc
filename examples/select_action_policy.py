"""A policy as one writes it for LeRobot, taken as it is: one action per call, and a state that `reset` clears.

yardarm eval --policy.type=select_action_policy:HoverPolicy --policy.height=0.2 --env.type=metaworld --env.task=reach-v3
"""

from types import SimpleNamespace

import torch


class HoverPolicy:
    def __init__(self, height: float = 0.15):
        # What it reads, as in LeRobot's configurations; without this it gets everything that the environment offers.
        self.config = SimpleNamespace(input_features={"observation.state": SimpleNamespace(shape=(4,))})
        self.goal = torch.tensor([0.0, 0.7, height])
        self.reset()

    def reset(self):  # called before each episode
        self.steps = 0

    def select_action(self, batch):  # tensors with one row; "task" is a list with the instruction
        self.steps += 1
        drive = 10 * (self.goal - batch["observation.state"][:, :3]).clamp(-0.1, 0.1)
        noise = torch.randn(1, 3) / self.steps  # torch's own generator: its seed is the episode's
        return torch.cat([(drive + 0.1 * noise).clamp(-1, 1), torch.full((1, 1), -1.0)], dim=1)
