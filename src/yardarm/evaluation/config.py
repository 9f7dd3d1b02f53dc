"""The configuration of an evaluation: LeRobot's flags, with the same names and meanings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.policies import Policy, PolicySpec
from yardarm.tasks import BenchmarkConfig, option, positive

__all__ = ["MOST_WORKERS", "EvalConfig", "EvalOptions"]

MOST_WORKERS = 64


@dataclass
class EvalOptions:
    """Flags below ``--eval.``."""

    n_episodes: int = option(50, "episodes of each task")
    batch_size: int = option(0, "how many episodes run at once, each in its own worker; 0: fit to this machine")
    use_async_envs: bool = option(True, "false: one simulator in this process, for debugging")
    videos: int = option(0, "videos of the first so many episodes of each task, rendered after the evaluation")
    timeout_s: float = option(300.0, "a worker that says nothing for so long is replaced")
    max_retries: int = option(2, "how often an episode is run again after its worker failed")

    def __post_init__(self) -> None:
        positive("--eval.n_episodes", self.n_episodes)
        positive("--eval.timeout_s", self.timeout_s)
        if not 0 <= self.batch_size <= MOST_WORKERS:
            raise UsageError(
                f"--eval.batch_size must lie between 0 (automatic) and {MOST_WORKERS}, got {self.batch_size}"
            )
        for name in ("videos", "max_retries"):
            if getattr(self, name) < 0:
                raise UsageError(f"--eval.{name} must not be negative, got {getattr(self, name)}")


@dataclass
class EvalConfig:
    """One evaluation: a policy, a benchmark's tasks, and how to run them."""

    env: BenchmarkConfig
    policy: PolicySpec | Policy
    eval: EvalOptions = field(default_factory=EvalOptions)
    seed: int = option(1000, "episode k of a task has the seed --seed + k")
    output_dir: Path | None = option(None, "the run's folder; one that exists is continued")
    job_name: str | None = option(None, "a name for the run, used in its folder's name")
    resume: bool = option(False, "without --output_dir: continue the newest unfinished run of the same plan")

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise UsageError(f"--seed must not be negative, got {self.seed}")
        if self.job_name and "/" in self.job_name:
            raise UsageError(f"--job_name must not contain '/', got '{self.job_name}'")
