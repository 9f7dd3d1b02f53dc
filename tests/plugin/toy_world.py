"""A benchmark in one small file: a point on a line that must reach its goal. It can also be told to fail."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from yardarm.envs import Observation, Step
from yardarm.errors import UsageError
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.tasks import ActionSpec, BenchmarkConfig, EnvSpec, EpisodeSpec, Feature, TaskSpec, option

TASKS = {"left": -1.0, "right": 1.0, "far": 10.0}


@dataclass
class ToyConfig(BenchmarkConfig):
    """Flags of ``--env.type=toy``."""

    name: ClassVar[str] = "toy"

    task: str = option("left,right", "left, right or far")
    max_steps: int = option(20, "step limit of an episode")
    replayable: bool = option(True, "false: pretend that episodes cannot be repeated")
    fault: str = option("", "kill, hang, raise, exit, stray, daemon or chatter")
    fault_at: int = option(0, "the index of the episode that fails")
    fault_times: int = option(1, "how many attempts fail")
    scratch: str = option("", "a folder in which attempts are counted")
    step_s: float = option(0.0, "seconds that a step takes")

    def tasks(self) -> tuple[TaskSpec, ...]:
        """One task per name."""
        names = [name for name in self.task.split(",") if name]
        for name in names:
            if name not in TASKS:
                raise UsageError(f"unknown task '{name}'; one of {', '.join(TASKS)}")
        return tuple(self._task(name) for name in names)

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """All three tasks."""
        return cls(task=",".join(TASKS)).tasks()

    def _task(self, name: str) -> TaskSpec:
        fault = {"fault": self.fault, "at": self.fault_at, "times": self.fault_times, "scratch": self.scratch}
        return TaskSpec(
            benchmark=self.name,
            group=name,
            index=0,
            name=name,
            instruction=f"Go {name}",
            max_steps=self.max_steps,
            fps=20,
            env=EnvSpec(
                simulator="toy_world:ToySimulator",
                features={
                    "observation.state": Feature((2,), "float64"),
                    "observation.image": Feature((8, 9, 3), "uint8"),
                },
                action=ActionSpec(size=1, low=-1.0, high=1.0),
                cameras=("front", "side"),
                options={"max_steps": self.max_steps, "step_s": self.step_s, **(fault if self.fault else {})},
                preload=("toy_world",),
                replayable=self.replayable,
            ),
        )


class ToySimulator:
    """The point moves by a tenth of the action and is pushed about by the episode's own wind."""

    def __init__(self, task: TaskSpec) -> None:
        self._goal = TASKS[task.name]
        self._options = task.env.options

    def reset(self, episode: EpisodeSpec) -> None:
        """Start near zero."""
        self._fail_if_told(episode)
        self._wind = np.random.default_rng([episode.seed, *episode.task.name.encode()])
        self._position = self._wind.normal(scale=0.1)

    def step(self, action: np.ndarray) -> Step:
        """Move."""
        time.sleep(self._options["step_s"])
        self._position += 0.1 * float(action[0]) + self._wind.normal(scale=0.01)
        distance = abs(self._goal - self._position)
        return Step(-distance, distance < 0.1, terminated=distance < 0.1, truncated=False)

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Where the point is, and where it should be; the image says it in grey."""
        values = {
            "observation.state": np.array([self._position, self._goal]),
            "observation.image": self.frame("front", 8, 9),
        }
        return {name: values[name] for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """A grey picture."""
        return np.full((height, width, 3), int(abs(self._position) * 100) % 256, np.uint8)

    def state(self) -> np.ndarray:
        """All there is."""
        return np.array([self._position, self._goal])

    def close(self) -> None:
        """Nothing to close."""

    def _fail_if_told(self, episode: EpisodeSpec) -> None:
        if episode.index != self._options.get("at", -1):
            return
        attempts = Path(self._options["scratch"]) / f"{episode.task.name}-{episode.index}"
        with attempts.open("a") as file:
            file.write("x")
        if len(attempts.read_text()) > self._options["times"]:
            return
        match self._options["fault"]:
            case "kill":
                os.kill(os.getpid(), 9)
            case "hang":
                time.sleep(3600)
            case "raise":
                raise RuntimeError("the toy is broken")
            case "stray":
                write_everywhere()
            case "exit":
                os._exit(7)
            case "daemon":
                become_daemons(Path(self._options["scratch"]))
            case "chatter":
                for _ in range(30):
                    print("x" * 1_000_000)


def write_everywhere() -> None:
    """As a native library does that has lost track of its descriptors."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.write(int(name), b"hello, is this the log?\n")


def become_daemons(folder: Path) -> None:
    """Leave a process behind that is in no group or session of ours, as a game server does, and tell its number."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if not os.fork():
        (folder / f"daemon-{os.getpid()}").touch()
        time.sleep(3600)
    os._exit(0)


class SlowlyPolicy:
    """Lives in the worker, and takes one step at a time."""

    wants = ObservationSpec(inputs=("observation.state",))
    place = "worker"

    def start(self, episode: EpisodeSpec) -> None:
        """It has no state."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Push a little."""
        return [ActionChunk(np.full((1, 1), 0.1)) for _ in requests]


class MoverPolicy:
    """Looks at the state and moves towards the goal, in chunks."""

    wants = ObservationSpec(inputs=("observation.state",))
    place = "host"

    def __init__(self, chunk: int = 3) -> None:
        self.chunk = chunk

    def start(self, episode: EpisodeSpec) -> np.random.Generator:
        """The episode's own noise."""
        return np.random.default_rng(episode.seed)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Head for the goal, not quite steadily."""
        chunks = []
        for request in requests:
            position, goal = request.observation["observation.state"]
            noise = request.state.normal(scale=0.3, size=(self.chunk, 1))
            chunks.append(ActionChunk(np.clip(np.sign(goal - position) + noise, -1, 1)))
        return chunks


class DeadlyPolicy(MoverPolicy):
    """Takes its process with it as soon as it is asked."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Like a kernel that crashes."""
        os.kill(os.getpid(), 9)
        return super().infer(requests)
