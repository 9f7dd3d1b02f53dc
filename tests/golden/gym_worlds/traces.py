"""Recorded episodes of the real gym environments, and how a worker of ours is led along them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.gym_worlds import record
from tests.simulators.acting import Actor
from yardarm.tasks import TaskSpec

HERE = Path(__file__).parent
# gym's names for what it shows, as LeRobot translates them.
INPUTS = {
    "pixels": "observation.image",
    "top": "observation.images.top",
    "agent_pos": "observation.state",
    "state": "observation.state",
    "environment_state": "observation.environment_state",
}
Trace = dict[str, Any]
Compare = Callable[[np.ndarray, np.ndarray], None]


def golden(name: str) -> Trace:
    with np.load(HERE / f"{name}.npz") as file:
        return dict(file)


def asking(trace: Trace, steps: int | None = None, **changes: Any) -> Trace:
    """The same episode, or its first steps, to be played anew."""
    asked = {name: trace[name] for name in record.ASKED}
    return {**asked, "actions": trace["actions"][:steps], **changes}


def played_by_gym(traces: list[Trace], folder: Path, renderer: str = "") -> list[Trace]:
    """Have the real environments play now, on this machine."""
    paths = [folder / f"trace{number}.npz" for number in range(len(traces))]
    for path, trace in zip(paths, traces, strict=True):
        np.savez(path, **trace)
    environment = {**os.environ, **({"MUJOCO_GL": renderer} if renderer else {})}
    subprocess.run([sys.executable, record.__file__, *paths], check=True, env=environment, capture_output=True)
    return [dict(np.load(path)) for path in paths]


def assert_followed(task: TaskSpec, trace: Trace, same_numbers: Compare, same_picture: Compare) -> None:
    """Play a trace's actions in a worker: every step must go as recorded."""
    actor = Actor(task)
    with contextlib.closing(actor.pool):
        names = {INPUTS[name]: name for name in INPUTS if name in trace or f"{name}_0" in trace}
        numbers = tuple(name for name in names if not task.env.features[name].is_image)
        *actions, last = trace["actions"]
        for step in range(len(actions) + 1):
            wanted = tuple(names) if step in trace["frames_at"] else numbers
            seen = actor.play(actions[step - 1][None], wanted) if step else actor.begin(int(trace["seed"]), wanted)
            for name in numbers:
                same_numbers(seen[name], trace[names[name]][step])
            for name in set(wanted) - set(numbers):
                same_picture(record.shrunk(seen[name], int(trace["shrink"])), trace[f"{names[name]}_{step}"])
        rollout = actor.play_to_the_end(last[None])
    # PushT's own rewards differ in their last bit from process to process.
    np.testing.assert_allclose(rollout.rewards, trace["rewards"], rtol=1e-9, atol=1e-9)
    assert rollout.success == trace["success"].any()
    assert rollout.terminated == trace["terminated"][-1]
    assert trace["terminated"][-1] or trace["truncated"][-1]


def everything_about(actor: Actor, seed: int, actions: np.ndarray) -> dict[str, np.ndarray]:
    """All that an episode shows, looked at after every step, and all that it leaves."""
    looks = [actor.begin(seed)] + [actor.play(action[None]) for action in actions[:-1]]
    rollout = actor.play_to_the_end(actions[-1:])
    return {
        **{name: np.stack([look[name] for look in looks]) for name in looks[0]},
        "initial state": rollout.initial_state,
        "fingerprints": np.array(sorted(rollout.fingerprints.items())),
        "rewards": rollout.rewards,
    }


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that imports a simulator: in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(function, *arguments).result()
