"""A custom policy: reads the robot's state and moves the hand towards a point above the table.

yardarm eval --policy.type=my_policy:HoverPolicy --policy.height=0.2 --env.type=metaworld --env.task=reach-v3
"""

import numpy as np

from yardarm.policies import ActionChunk, ObservationSpec


class HoverPolicy:
    wants = ObservationSpec(inputs=("observation.state",))  # its inputs; images are rendered only if listed here
    place = "host"  # infers in the main process, in batches over all running episodes

    def __init__(self, height: float = 0.15, chunk: int = 10):
        self.height, self.chunk = height, chunk

    def start(self, episode):  # returns the state of one episode
        return np.random.default_rng(episode.seed)

    def infer(self, requests):  # a batch over any mix of tasks and episodes; returns a chunk of actions for each
        return [ActionChunk(self._towards_goal(request)) for request in requests]

    def _towards_goal(self, request):
        goal = np.array([0.0, 0.7, self.height])
        hand = request.observation["observation.state"][:3]
        drive = np.append(np.clip(10 * (goal - hand), -1, 1), -1.0)
        return drive + request.state.normal(scale=0.01, size=(self.chunk, 4))
