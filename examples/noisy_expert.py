"""Meta-World's experts with added noise: a policy that is as much worse as you like, for trying out comparisons.

yardarm eval --policy.type=noisy_expert:NoisyExpert --policy.noise=0.5 --against=expert --eval.stop=decided \
  --env.type=metaworld --env.task=medium --eval.n_episodes=10

With drift, the hand is also pushed aside for eight steps at a time: demonstrations then show how to come back.
"""

import numpy as np

from yardarm.policies import ActionChunk
from yardarm.policies.scripted import ExpertPolicy

STEPS_OF_A_PUSH = 8


class NoisyExpert(ExpertPolicy):
    def __init__(self, noise: float = 0.5, drift: float = 0.0):
        self.noise = noise
        self.drift = drift
        self.id = f"noisy-expert-{noise:g}" + (f"-{drift:g}" if drift else "")

    def start(self, episode):
        return super().start(episode), _Disturbance(self.noise, self.drift, np.random.default_rng([episode.seed, 1]))

    def infer(self, requests):
        return [ActionChunk(self._disturbed(request)) for request in requests]

    def _disturbed(self, request):
        expert, disturbance = request.state
        (action,) = expert.actions(request.observation["observation.environment_state"])
        return np.clip(action + disturbance.next(len(action)), -1, 1)[None]


class _Disturbance:
    def __init__(self, noise, drift, rng):
        self.noise, self.drift, self.rng = noise, drift, rng
        self.push = np.zeros(3)
        self.steps = 0

    def next(self, size):
        if self.drift and self.steps % STEPS_OF_A_PUSH == 0:
            self.push = self.drift * self.rng.normal(size=3)
        self.steps += 1
        disturbance = self.noise * self.rng.normal(size=size)
        disturbance[:3] += self.push  # The gripper is not pushed.
        return disturbance
