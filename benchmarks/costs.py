"""Measures steps and looks where they happen: in the simulators of the measured run."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from yardarm.envs import Observation, Step
from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec, TaskSpec

NOTES_VARIABLE = "YARDARM_BENCHMARK_COSTS"


@dataclass(frozen=True)
class Costs:
    """CPU-seconds of steps and looks, and their numbers."""

    steps: int = 0
    steps_s: float = 0.0
    looks: int = 0
    looks_s: float = 0.0

    @property
    def step_s(self) -> float:
        return self.steps_s / self.steps

    @property
    def look_s(self) -> float:
        return self.looks_s / self.looks

    def __add__(self, other: Costs) -> Costs:
        return Costs(*(own + others for own, others in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return f"{1e3 * self.step_s:.2f} ms a step, {1e3 * self.look_s:.0f} ms a look"


class CostNotes:
    """A file to which simulators in other processes append a line after each episode."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    @contextlib.contextmanager
    def taken(cls) -> Iterator[CostNotes]:
        """Make processes that are started in this block write notes."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "costs")
            path.touch()
            os.environ[NOTES_VARIABLE] = str(path)
            try:
                yield cls(path)
            finally:
                del os.environ[NOTES_VARIABLE]

    def total(self) -> Costs:
        lines = [line.split() for line in self._path.read_text().splitlines()]
        return sum((Costs(int(a), float(b), int(c), float(d)) for a, b, c, d in lines), Costs())


class CostedSimulator:
    """Meta-World's simulator, which measures its own CPU time, for episodes of any length."""

    def __init__(self, task: TaskSpec) -> None:
        # By name: the main process imports this module too, and must not load a simulator.
        self._simulator = import_object("yardarm.simulators.metaworld:MetaworldSimulator")(task)
        self._limit = task.max_steps
        self._has_looked = False

    def __getattr__(self, name: str):
        return getattr(self._simulator, name)

    def length(self, episode: EpisodeSpec) -> int:
        """The number of steps after which an episode ends."""
        return self._limit

    def reset(self, episode: EpisodeSpec) -> None:
        self._length = self.length(episode)
        self._steps = self._looks = 0
        self._steps_s = self._looks_s = 0.0
        self._simulator.reset(episode)

    def step(self, action: np.ndarray) -> Step:
        started = time.process_time()
        step = self._simulator.step(action)
        self._steps_s += time.process_time() - started
        self._steps += 1
        if self._steps == self._length:
            self._take_note()
        return step._replace(truncated=self._steps >= self._length)

    def observe(self, wanted: Iterable[str]) -> Observation:
        started = time.process_time()
        values = self._simulator.observe(wanted)
        if self._has_looked:  # the first look opens the OpenGL context and compiles its shaders
            self._looks_s += time.process_time() - started
            self._looks += 1
        self._has_looked = True
        return values

    def _take_note(self) -> None:
        if path := os.environ.get(NOTES_VARIABLE):
            with open(path, "a") as file:  # one short write, so lines of different processes do not mix
                file.write(f"{self._steps} {self._steps_s} {self._looks} {self._looks_s}\n")
