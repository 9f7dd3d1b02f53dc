"""Tests a world in a worker: imports its simulator, and draws one frame."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from yardarm.envs.launching import Launchers
from yardarm.envs.messages import Ask
from yardarm.envs.simulator import Simulator
from yardarm.envs.world_venvs import Benchmark
from yardarm.errors import EnvironmentFault, SetupError
from yardarm.registry import import_object
from yardarm.tasks import FIRST_SEED, EpisodeSpec, Home, TaskSpec

__all__ = ["Trial", "open_trial"]

TIME_LIMIT_S = 300.0
# Large enough to show something, and quick to draw without a GPU.
FRAME_SIZE = (96, 128)


@dataclass(frozen=True, slots=True)
class Trial:
    """A world whose simulator has been imported by an interpreter's workers."""

    task: TaskSpec | None
    """Its first task, if tasks are known without a worker."""
    launchers: Launchers

    def draw(self) -> str | None:
        """Draw the first task and return the renderer's name; None if it has no camera or needs no OpenGL."""
        if self.task is None or not self.task.env.cameras:
            return None
        home, environment, renderer = self.task.env.home, {}, None
        if self.task.env.renderer:
            environment["MUJOCO_GL"], renderer = self.launchers.find_renderer(home)
        question = Ask("yardarm.envs.trial:draw_first_frame", {"task": self.task})
        try:
            self.launchers.ask(home, question, environment=environment, time_limit_s=TIME_LIMIT_S)
        except EnvironmentFault as fault:
            raise SetupError(f"'{self.task.name}' of {self.task.benchmark} cannot be drawn: {fault}") from fault
        return renderer


@contextlib.contextmanager
def open_trial(benchmark: Benchmark, python: str) -> Iterator[Trial]:
    """Import a benchmark's simulator with an interpreter ("" is this one); raise `SetupError` if that fails."""
    first = next(iter(benchmark.catalogue()), None)
    task = first and replace(first, env=replace(first.env, python=python))
    with contextlib.closing(Launchers()) as launchers:
        launchers.start(task.env.home if task else Home(python=python))
        yield Trial(task, launchers)


def draw_first_frame(task: TaskSpec) -> None:
    """Draw the start of the task's first episode; called in a worker."""
    simulator: Simulator = import_object(task.env.simulator)(task)
    simulator.reset(EpisodeSpec(task, 0, FIRST_SEED))
    frame = simulator.frame(task.env.cameras[0], *(task.env.frame_size or FRAME_SIZE))
    if task.env.renderer and frame.min() == frame.max():  # OpenGL may open a context and still draw nothing
        raise EnvironmentFault("the whole frame has one colour")
