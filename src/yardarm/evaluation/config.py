"""The configuration of an evaluation: LeRobot's flags, with the same names and meanings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from yardarm.cluster import RayOptions
from yardarm.config import fit_fields, one_of, option, positive
from yardarm.errors import UsageError
from yardarm.evaluation.sharding.shard import Shard
from yardarm.policies import Policy, PolicySpec
from yardarm.results import DECIDED, OVER_TASKS, PER_TASK, PRECISION, STOPPING_RULES, Uncertainty
from yardarm.stats import CONFIDENCE
from yardarm.tasks import FIRST_SEED, BenchmarkConfig
from yardarm.tracking import WandbOptions

if TYPE_CHECKING:
    from yardarm.engine import EngineOptions

__all__ = ["LOCAL", "RAY", "EvalConfig", "EvalOptions"]

MOST_EPISODES = 100_000
LOCAL, RAY = "local", "ray"
LONGEST_NAME = 100
HALF_WIDTH = 0.05


@dataclass
class EvalOptions:
    """Flags below ``--eval.``."""

    n_episodes: int = option(50, "episodes of each task")
    batch_size: int = option(
        0, "how many episodes run at once, at most 64 on one machine; 0: chosen for this machine and run"
    )
    use_async_envs: bool = option(True, "false: one simulator in this process, for debugging")
    exact: bool = option(True, "false: batches may have any shape, which changes the last bits of results")
    policies_at_once: int = option(
        0, "with several policies: how many play at once and stay in memory; 0: as many as fit, at most 8"
    )
    videos: int = option(0, "render videos of the first N episodes of each task, after the evaluation")
    pictures: float = option(
        10.0, "seconds to spend, at low priority, on pictures of the first failures for the report; 0: none"
    )
    recording: bool = option(False, "afterwards, write all episodes as a dataset to OUTPUT_DIR/recordings")
    recording_repo_id: str | None = option(None, "with --eval.recording: upload the dataset to the Hub as owner/name")
    recording_private: bool = option(False, "with --eval.recording_repo_id: make the dataset private")
    timeout_s: float = option(
        300.0, "seconds without an answer after which a worker is replaced, or a policy has failed"
    )
    max_retries: int = option(2, "how often to run an episode again after its worker failed")
    stop: str = option("", "stop early: decided (needs --against) or precision; n_episodes is then the maximum")
    half_width: float = option(
        HALF_WIDTH, "with --eval.stop=precision: stop when half the interval's width is at most this"
    )
    confidence: float = option(CONFIDENCE, "confidence level of intervals, and of the decision to stop")
    interval: str = option(
        "", "interval of a success rate: wilson, clopper_pearson or anytime [wilson; anytime with stop]"
    )
    over_tasks: str = option(
        "pooled", "interval over several tasks: pooled, stratified, or clustered (for new tasks like these)"
    )

    def __post_init__(self) -> None:
        fit_fields(self, "--eval.")
        for name in ("n_episodes", "batch_size", "policies_at_once", "videos", "max_retries"):
            if getattr(self, name) < 0:
                raise UsageError(f"--eval.{name} must not be negative, got {getattr(self, name)}")
        one_of("--eval.stop", self.stop, ("", *STOPPING_RULES))
        one_of("--eval.interval", self.interval, ("", *PER_TASK))
        one_of("--eval.over_tasks", self.over_tasks, OVER_TASKS)
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"--eval.confidence must lie between 0.5 and 1, got {self.confidence}")
        if self.stop and (self.interval not in ("", "anytime") or self.over_tasks != "pooled"):
            raise UsageError(
                "--eval.stop has intervals of its own: --eval.interval and --eval.over_tasks are for a fixed number"
            )
        if self.interval == "anytime" and self.over_tasks != "pooled":
            raise UsageError(f"--eval.interval=anytime is for --eval.over_tasks=pooled, not for {self.over_tasks}")
        if self.half_width != HALF_WIDTH and self.stop != PRECISION:
            raise UsageError(f"--eval.half_width={self.half_width} is for --eval.stop=precision")
        if not 0 < self.half_width < 0.5:
            raise UsageError(f"--eval.half_width must lie between 0 and 0.5, got {self.half_width}")
        if self.recording_repo_id and not self.recording:
            raise UsageError(f"--eval.recording_repo_id={self.recording_repo_id} needs --eval.recording=true")
        if self.recording_private and not self.recording_repo_id:
            raise UsageError("--eval.recording_private is for uploads: add --eval.recording_repo_id=owner/name")
        positive("--eval.timeout_s", self.timeout_s)
        if not 0 <= self.pictures < math.inf:
            raise UsageError(f"--eval.pictures must be a number of seconds, 0 or more, got {self.pictures}")
        positive("--eval.n_episodes", self.n_episodes)
        if self.n_episodes > MOST_EPISODES:
            raise UsageError(f"--eval.n_episodes must be at most {MOST_EPISODES:,} a task, got {self.n_episodes}")

    @property
    def engine(self) -> EngineOptions:
        """What the engine needs to know."""
        from yardarm.engine import EngineOptions

        return EngineOptions(
            batch_size=self.batch_size,
            use_async_envs=self.use_async_envs,
            timeout_s=self.timeout_s,
            max_retries=self.max_retries,
            films=bool(self.videos),
            policies_at_once=self.policies_at_once,
        )

    @property
    def uncertainty(self) -> Uncertainty:
        """How intervals are computed."""
        return Uncertainty.chosen(self.confidence, self.interval, self.over_tasks, self.stop)


@dataclass
class EvalConfig:
    """One evaluation: a policy or several, one or more benchmarks' tasks, and how to run them."""

    env: BenchmarkConfig | Sequence[BenchmarkConfig]
    policy: PolicySpec | Policy | Sequence[PolicySpec | Policy]
    eval: EvalOptions = field(default_factory=EvalOptions)
    wandb: WandbOptions = field(default_factory=WandbOptions)
    ray: RayOptions = field(default_factory=RayOptions)
    runner: str = option(LOCAL, "local: on this machine; ray: on all nodes of a Ray cluster")
    against: Path | PolicySpec | Policy | None = option(
        None, "compare with a run, or with another policy (a checkpoint or a name; --against.path=… takes options)"
    )
    seed: int = option(FIRST_SEED, "episode k of a task has the seed --seed + k")
    output_dir: Path | None = option(None, "the run's folder; an existing run is resumed [outputs/eval/DATE/TIME_NAME]")
    job_name: str | None = option(None, "a name for the run: lists show it, and a new folder is named after it")
    method: str | None = option(None, "the method that trained the policy: `yardarm compare` groups its training seeds")
    training_seed: int | None = option(None, "the seed used to train the policy; needs --method")
    rename_map: dict[str, str] | None = option(None, '{"environment\'s input name": "policy\'s input name", …}')
    trust_remote_code: bool = option(
        False, "allow code from elsewhere: environments of --env.type=hub, and code named in --config_path"
    )
    resume: bool = option(False, "without --output_dir: resume the newest unfinished run with the same plan")
    allow_mixed_versions: bool = option(
        False, "resume a run started with other versions of simulators, torch, …; marks its results permanently"
    )
    shard: str | None = option(
        None, "i/n: play part i of n, in OUTPUT_DIR/shard_i_of_n; `yardarm merge` merges the parts"
    )

    @property
    def envs(self) -> tuple[BenchmarkConfig, ...]:
        """The benchmarks; usually one."""
        return (self.env,) if isinstance(self.env, BenchmarkConfig) else tuple(self.env)

    @property
    def several(self) -> bool:
        """Whether policies are given as a list, even of one."""
        return isinstance(self.policy, Sequence)

    @property
    def policies(self) -> tuple[PolicySpec | Policy, ...]:
        """All policies; usually one."""
        return tuple(self.policy) if isinstance(self.policy, Sequence) else (self.policy,)

    @property
    def part(self) -> Shard | None:
        """The part of the plan to play; None: all of it."""
        return Shard.parse(self.shard) if self.shard is not None else None

    @property
    def run_dir(self) -> Path | None:
        """The run's folder, if it is given: a shard has a folder inside it."""
        return self.part.folder_in(self.output_dir) if self.part and self.output_dir else self.output_dir

    def __post_init__(self) -> None:
        fit_fields(self, "--")
        if not self.envs:
            raise UsageError("env is an empty list: name at least one benchmark")
        if self.several:
            self._check_several()
        elif self.eval.policies_at_once:
            raise UsageError(f"--eval.policies_at_once={self.eval.policies_at_once} is for a list of policies")
        if any(env.python for env in self.envs) and not self.eval.use_async_envs:
            raise UsageError(
                "--env.python is for workers; --eval.use_async_envs=false keeps the simulator in this process"
            )
        self._check_runner()
        self._check_stopping()
        if self.part is not None:
            self._check_shard()
        if self.training_seed is not None and not self.method:
            raise UsageError(f"--training_seed={self.training_seed} belongs to a method: name it with --method")
        if self.seed < 0:
            raise UsageError(f"--seed must not be negative, got {self.seed}")
        if self.job_name and ("/" in self.job_name or len(self.job_name) > LONGEST_NAME):
            raise UsageError(f"--job_name must be short and without '/', got '{self.job_name[:LONGEST_NAME]}'")

    def _check_several(self) -> None:
        """Refuse what is for one policy."""
        if not self.policies:
            raise UsageError("there is no policy in the list: name at least one")
        of_one = {
            "--against": (
                self.against is not None,
                "a list is compared as a whole: add it to the list",
            ),
            "--eval.stop": (bool(self.eval.stop), "it judges one policy, or one against another"),
            "--eval.recording": (self.eval.recording, "record the run of one policy"),
            "--wandb.enable": (self.wandb.enable, "track the run of one policy"),
            "--method": (self.method is not None, "a list may hold several methods"),
        }
        for flag, (given, reason) in of_one.items():
            if given:
                raise UsageError(f"{flag} is not for a list of policies: {reason}")

    def _check_runner(self) -> None:
        one_of("--runner", self.runner, (LOCAL, RAY))
        if self.runner != RAY and self.ray != RayOptions():
            raise UsageError("--ray.… is for --runner=ray: add that, or omit --ray.…")
        if self.runner == RAY and not self.eval.use_async_envs:
            raise UsageError("--eval.use_async_envs=false keeps the simulator in this process, not on --runner=ray")

    def _check_stopping(self) -> None:
        if self.eval.stop == DECIDED and self.against is None:
            raise UsageError("--eval.stop=decided needs an opponent: add --against=RUN_OR_POLICY")
        if self.eval.stop == PRECISION and self.against is not None:
            raise UsageError("--eval.stop=precision is for one policy alone; with --against it is --eval.stop=decided")
        if not isinstance(self.against, Path):
            return
        if not self.against.exists():
            raise UsageError(f"--against={self.against}: there is no such run")
        from yardarm.comparison import run_folder

        if self.output_dir and run_folder(self.against) == run_folder(self.output_dir):
            raise UsageError(f"--against={self.against} is the --output_dir: a run cannot be compared with itself")

    def _check_shard(self) -> None:
        if self.output_dir is None:
            raise UsageError(f"--shard={self.shard} needs --output_dir, the same for all shards")
        if self.eval.stop:
            raise UsageError(
                f"--shard={self.shard}: --eval.stop={self.eval.stop} needs all outcomes in one place, so an evaluation "
                "that may stop early has no shards"
            )
        if self.against is not None:
            raise UsageError(
                f"--shard={self.shard}: --against is for a whole evaluation; merge the shards, then `yardarm compare`"
            )
        if self.eval.recording:
            raise UsageError(
                f"--shard={self.shard}: --eval.recording is for a whole evaluation; merge the shards, then "
                f"`yardarm eval --config_path={self.output_dir / 'config.yaml'} --eval.recording=true`"
            )
