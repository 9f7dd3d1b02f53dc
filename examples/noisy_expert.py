"""Meta-World's experts with added noise: a policy that is as much worse as you like, for trying out comparisons.

yardarm eval --policy.type=noisy_expert:NoisyExpert --policy.noise=0.5 --against=expert --eval.stop=decided \
  --env.type=metaworld --env.task=medium --eval.n_episodes=10
"""

import numpy as np

from yardarm.policies import ActionChunk
from yardarm.policies.scripted import ExpertPolicy


class NoisyExpert(ExpertPolicy):
    def __init__(self, noise: float = 0.5):
        self.noise = noise
        self.id = f"noisy-expert-{noise:g}"

    def start(self, episode):
        return super().start(episode), np.random.default_rng([episode.seed, 1])

    def infer(self, requests):
        return [ActionChunk(self._trembling(request)) for request in requests]

    def _trembling(self, request):
        expert, rng = request.state
        action = expert.get_action(request.observation["observation.environment_state"])
        return np.clip(action + self.noise * rng.normal(size=len(action)), -1, 1)[None]
