"""Plays actions in a gym environment that is made exactly as LeRobot makes it, and writes down what came back.

    python record.py TRACE.npz …

A trace says what to play: gym_id, seed, actions, obs_type, episode_length, frames_at (steps), and shrink. It is written
again with the rest. Run in a process of its own: the tests import no simulator.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

# `gym_kwargs` of LeRobot 0.6.1's AlohaEnv and PushtEnv, but for obs_type and max_episode_steps, which a trace gives.
# (Both have observation_height and observation_width, too. LeRobot does not pass them on.)
GYM_KWARGS: dict[str, dict[str, Any]] = {
    "gym_aloha": {"render_mode": "rgb_array"},
    "gym_pusht": {"render_mode": "rgb_array", "visualization_width": 384, "visualization_height": 384},
}
ASKED = ("gym_id", "seed", "actions", "obs_type", "episode_length", "frames_at", "shrink")


def asked(gym_id: str, seed: int, actions: np.ndarray, **more: Any) -> dict[str, Any]:
    """What to play; frames at the given steps are shrunk by a factor, because golden files must be small."""
    defaults = {"obs_type": "pixels_agent_pos", "episode_length": len(actions), "frames_at": [0], "shrink": 1}
    return {"gym_id": gym_id, "seed": seed, "actions": actions, **defaults, **more}


def shrunk(frame: np.ndarray, factor: int) -> np.ndarray:
    """The means of blocks of so many pixels."""
    height, width, channels = frame.shape
    blocks = frame.reshape(height // factor, factor, width // factor, factor, channels)
    return blocks.mean(axis=(1, 3)).round().astype(np.uint8)


def observed(observation: Any) -> dict[str, np.ndarray]:
    """An environment's observation, flat, by gym's own names; what has none is called by its kind."""
    if isinstance(observation, np.ndarray):
        observation = {"pixels" if observation.dtype == np.uint8 else "state": observation}
    flat = {key: value for key, value in observation.items() if not isinstance(value, dict)}
    return {**flat, **observation.get("pixels", {})} if isinstance(observation.get("pixels"), dict) else flat


def play(trace: dict[str, Any]) -> dict[str, np.ndarray]:
    """Every step's reward, flags and numbers, and some frames."""
    import gymnasium

    package, _, _ = str(trace["gym_id"]).partition("/")
    __import__(package)
    env = gymnasium.make(
        str(trace["gym_id"]),
        disable_env_checker=True,
        obs_type=str(trace["obs_type"]),
        max_episode_steps=int(trace["episode_length"]),
        **GYM_KWARGS[package],
    )
    observation, _ = env.reset(seed=int(trace["seed"]))
    seen, results = [observed(observation)], []
    for action in trace["actions"]:
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observed(observation))
        results.append((reward, info["is_success"], terminated, truncated))
        if terminated or truncated:
            break
    numbers = {name: np.stack([look[name] for look in seen]) for name in seen[0] if seen[0][name].ndim == 1}
    frames = {
        f"{name}_{step}": shrunk(seen[step][name], int(trace["shrink"]))
        for name in seen[0]
        if seen[0][name].ndim == 3
        for step in trace["frames_at"]
    }
    rewards, success, terminated_at, truncated_at = map(np.array, zip(*results, strict=True))
    flags = {"success": success, "terminated": terminated_at, "truncated": truncated_at}
    return {"rewards": rewards.astype(float), **flags, **numbers, **frames}


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        with np.load(path) as file:
            trace = {name: file[name] for name in ASKED}
        np.savez_compressed(path, **trace, **play(trace))


if __name__ == "__main__":
    main()
