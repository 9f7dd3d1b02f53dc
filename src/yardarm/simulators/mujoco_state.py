"""The state that MuJoCo integrates."""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["integrated_state"]


def integrated_state(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Everything that the next step starts from, including the solver's warm start."""
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    return state
