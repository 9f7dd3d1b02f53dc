"""PushT's simulator: gym_pusht's environment, drawn only when needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from yardarm.envs import Observation, Step
from yardarm.tasks import EpisodeSpec, TaskSpec

with warnings.catch_warnings():
    # pygame's own imports cause warnings.
    warnings.simplefilter("ignore")
    from gym_pusht.envs.pusht import PushTEnv, pymunk_to_shapely

__all__ = ["PushtSimulator"]

# In smaller frames, the cross at the agent's target would have lines of width 0, which OpenCV refuses to draw.
SMALLEST_FRAME_WITH_CROSS = 96


class DeterministicPushT(PushTEnv):
    """gym_pusht's environment, with the same rewards in every process.

    The original's differ in the last bit: it adds the areas of the block's two halves in the order of a set, which
    depends on their memory addresses.
    """

    def _setup(self) -> None:
        super()._setup()
        self._target = pymunk_to_shapely(self.get_goal_pose_body(self.goal_pose), self._block_shapes)

    def _get_coverage(self) -> float:
        block = pymunk_to_shapely(self.block, self._block_shapes)
        return self._target.intersection(block).area / self._target.area


class PushtSimulator:
    """PushT's only task. An episode ends when the block covers 95 % of the target."""

    def __init__(self, task: TaskSpec) -> None:
        options = task.env.options
        self._shows_poses = options["obs_type"] == "state"
        # With "state", its steps draw nothing, whatever the policy reads.
        self._env = DeterministicPushT(
            obs_type="state", observation_height=options["height"], observation_width=options["width"]
        )

    def reset(self, episode: EpisodeSpec) -> None:
        """Draw the episode's positions from its seed; all bodies are created again."""
        self._env.reset(seed=episode.seed)
        self._env._last_action = None  # or the first frame would show the last episode's target position

    def step(self, action: np.ndarray) -> Step:
        """Play one action; the reward is the covered share of the target."""
        _, reward, terminated, truncated, info = self._env.step(action)
        return Step(float(reward), bool(info["is_success"]), bool(terminated), bool(truncated))

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Read inputs; only ``observation.image`` is expensive."""
        return {name: self._input(name) for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Draw the square world, with a cross at the agent's target, in the middle of a white picture."""
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        picture = np.full((height, width, 3), 255, np.uint8)
        picture[top : top + side, left : left + side] = self._env._get_img(
            self._env._draw(), side, side, render_action=side >= SMALLEST_FRAME_WITH_CROSS
        )
        return picture

    def state(self) -> np.ndarray:
        """Agent, block and target, and the contacts' impulses, which pymunk uses in its next step."""
        agent, block = self._env.agent, self._env.block
        moving = [[*body.position, body.angle, *body.velocity, body.angular_velocity] for body in (agent, block)]
        return np.concatenate([*moving, self._env.goal_pose, self._impulses().ravel()])

    def close(self) -> None:
        """Nothing to free but memory."""

    def _input(self, name: str) -> np.ndarray:
        if name == "observation.image":
            return self._env._render()
        if name == "observation.environment_state":
            return self._env.get_keypoints(self._env._block_shapes).flatten()
        return self._env.get_obs() if self._shows_poses else np.array(self._env.agent.position)

    def _impulses(self) -> np.ndarray:
        # For each pair of a wall or the agent and one of the block's two halves, which touch in up to two points.
        shapes = [shape._shape for shape in self._env.space.shapes]
        halves = [shape._shape for shape in self._env._block_shapes]
        impulses = np.zeros((len(shapes), len(halves), 2, 2))
        for touch in self._env.space._get_arbiters():
            if touch.b in halves:
                for point in range(touch.count):
                    contact = touch.contacts[point]
                    impulses[shapes.index(touch.a), halves.index(touch.b), point] = contact.jnAcc, contact.jBias
        return impulses
