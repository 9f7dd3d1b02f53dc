"""Evaluate a network between the epochs of its training.

The network imitates a rule that moves to the middle of the table and solves few episodes; the loop is the point here.
"""

import torch

import yardarm


class Network(torch.nn.Module):
    """Maps the gripper's position to a chunk of ten actions."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10 * 4))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layers(batch["observation.state"]).unflatten(-1, (10, 4))


def rule(states: torch.Tensor) -> torch.Tensor:
    """The actions of a demonstration: move to a point above the table."""
    target = torch.tensor([0.0, 0.8, 0.15])
    moves = (target - states[:, :3]).clamp(-0.1, 0.1) * 10
    return torch.cat([moves, torch.zeros(len(states), 1)], dim=1)[:, None].expand(-1, 10, -1)


torch.manual_seed(0)
network = Network()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)

for epoch in range(3):
    for _ in range(100):
        states = torch.rand(64, 4) * torch.tensor([0.4, 0.4, 0.3, 1.0]) + torch.tensor([-0.2, 0.5, 0.0, 0.0])
        loss = torch.nn.functional.mse_loss(network({"observation.state": states}), rule(states))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    run = yardarm.evaluate(network, "reach-v3", n_episodes=5, inputs=["observation.state"])
    interval = run.counts.interval
    print(
        f"epoch {epoch}: loss {loss:.4f}, {run.counts.successes}/{run.counts.episodes} solved, "
        f"95% interval {interval.low:.0%} to {interval.high:.0%}"
    )
