"""Opposite tasks of one object, started from the same scenes: nothing but the instruction tells them apart.

Meta-World starts a drawer closed if it is to be opened and open if it is to be closed, puts the faucet that is to be
closed into places where the other never is, and draws markers at goals: a policy can do such tasks without listening.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["make_alike", "start_alike"]

# Where the faucets of both tasks are: the range of faucet-open-v3, which is inside that of faucet-close-v3.
FAUCET_LOW, FAUCET_HIGH = (-0.05, 0.8, 0.0), (0.05, 0.85, 0.0)
# Half of the way from closed (0) to open, in metres. The joint is the last of the model.
HALF_OPEN_DRAWER = -0.1


def make_alike(env: Any, task_name: str) -> None:
    """Change a task's environment: no markers, and the same places for its object as its opposite has."""
    env.model.site_rgba[:, 3] = 0
    if task_name.startswith("faucet"):
        space = env._random_reset_space
        space.low[:], space.high[:] = FAUCET_LOW, FAUCET_HIGH


def start_alike(env: Any, task_name: str, raw: np.ndarray) -> np.ndarray:
    """Move what a reset leaves different, and return the raw values with that."""
    qpos = env.data.qpos.copy()
    if task_name.startswith("drawer"):
        qpos[-1] = HALF_OPEN_DRAWER
    # This also computes what is drawn and measured from where things are now: faucet-open-v3 leaves that to its first
    # step, and until then shows the faucet where a reset's first draw had put it.
    env.set_state(qpos, env.data.qvel.copy())
    now = env._get_curr_obs_combined_no_goal()
    env._prev_obs = now
    return np.concatenate([now, now, raw[-3:]])
