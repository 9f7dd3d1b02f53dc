"""Runs the engine as a user would, and keeps what is compared later."""

from __future__ import annotations

import logging
import tempfile
import time
from dataclasses import dataclass

import numpy as np
from costs import CostNotes, Costs
from usage import CpuAccount

import yardarm
from yardarm.machine import usable_cores
from yardarm.policies import Policy
from yardarm.results import RunFolder, RunResult
from yardarm.tasks import BenchmarkConfig

log = logging.getLogger("benchmark")


@dataclass(frozen=True)
class EngineRun:
    """A finished evaluation. Its wall time is that of the whole call, from the start to the last file."""

    wall_s: float
    result: RunResult
    batch_size: int
    renderer: str | None
    cpu: CpuAccount
    rewards: dict[tuple[str, int], np.ndarray]
    costs: Costs
    """Measured by the simulators of a `CostedConfig`."""

    @property
    def steps(self) -> int:
        return sum(record.steps for record in self.result.episodes)

    @property
    def core_seconds(self) -> float:
        return self.wall_s * usable_cores()

    def timing(self, part: str) -> float:
        """Seconds of one part over all episodes, from the journal."""
        return sum(getattr(record.timing, part) for record in self.result.episodes)

    def spent(self) -> str:
        """How the cores' time was spent."""
        busy = self.cpu.main_s + self.cpu.descendants_s
        return (
            f"of {self.core_seconds:.0f} core-seconds, the main process used {self.cpu.main_s:.1f}, launcher and "
            f"workers {self.cpu.descendants_s:.1f}; other programs {self.cpu.others_s:.1f}; idle "
            f"{max(0.0, self.core_seconds - busy - self.cpu.others_s):.1f}"
        )


def run_engine(policy: str | Policy, env: BenchmarkConfig, n_episodes: int, batch_size: int = 0) -> EngineRun:
    """Evaluate into a temporary folder, including the journal and recorded actions."""
    log.info("  engine: %d episodes of each of %d tasks", n_episodes, len(env.tasks()))
    with tempfile.TemporaryDirectory() as folder, CostNotes.taken() as notes, CpuAccount() as cpu:
        started = time.perf_counter()
        result = yardarm.evaluate(policy, env, n_episodes=n_episodes, batch_size=batch_size, output_dir=folder)
        wall_s = time.perf_counter() - started
        files = RunFolder(result.path)
        session = files.read_manifest().newest
        rewards = {
            (record.key.task, record.key.seed): files.load_played(record.key).rewards for record in result.episodes
        }
        costs = notes.total()
    assert not result.counts.errors, "an episode ended in an error"
    return EngineRun(wall_s, result, session.batch_size, session.renderer, cpu, rewards, costs)
