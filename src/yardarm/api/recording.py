"""Record episodes as a dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yardarm.api.functions import api_function, options_of
from yardarm.api.results import EvaluatedRun, Shown
from yardarm.api.sources import PolicySource, Tasks, benchmarks_of, policy_maker
from yardarm.api.watching import interruption, shows_progress
from yardarm.displays import RecordingDisplay, open_console, open_display
from yardarm.errors import UsageError
from yardarm.evaluation import EvalConfig, EvaluationListener
from yardarm.recording import RecordConfig, RecordDatasetOptions, Recording, RecordingListener, RecordOptions
from yardarm.recording import record as run_recording
from yardarm.report import Sheet, Table
from yardarm.tasks import FIRST_SEED

if TYPE_CHECKING:
    from pandas import DataFrame

    from yardarm.datasets import LeRobotDataset

__all__ = ["FinishedRecording", "record"]

RESUME = "stopped; what is finished is kept, and the same call continues from there"


class FinishedRecording(Shown, Recording):
    """A recorded `dataset`, and the `run` that its episodes were played in."""

    __slots__ = ()

    @property
    def root(self) -> Path:
        """The dataset's folder, as `yardarm.train` takes it."""
        if self.dataset is None:
            raise UsageError(f"there is no dataset: no episode of {self.run.path} could be recorded")
        return self.dataset.root

    def open(self, **options: Any) -> LeRobotDataset:
        """The dataset, frame by frame as tensors; `options` are those of `yardarm.datasets.LeRobotDataset`."""
        from yardarm.datasets import LeRobotDataset

        return LeRobotDataset(root=self.root, **options)

    def to_pandas(self) -> DataFrame:
        """A row per episode that was played, recorded or not."""
        return EvaluatedRun.of(self.run).to_pandas()

    def _sheet(self) -> Sheet:
        if self.dataset is None:
            return Sheet((f"No episode could be recorded. Played: {self.run.path}",))
        own = self.dataset
        header = ("dataset", "episodes", "frames", "tasks", "MB")
        row = (own.root.name, *(f"{number:,}" for number in (own.episodes, own.frames, own.tasks)))
        lines = [f"{name} has fewer successes than asked for: {count}." for name, count in self.too_few.items()]
        if own.skipped:
            lines.append(f"{own.skipped} episodes could not be recorded; the same call retries them.")
        places = (f"Dataset: {own.root}", f"Played: {self.run.path}")
        return Sheet((Table(header, [(*row, f"{own.size / 1e6:.1f}")]), *lines, *places))


@api_function(RecordOptions, RecordDatasetOptions)
def record(
    policy: PolicySource,
    tasks: Tasks,
    *,
    root: str | Path | None = None,
    benchmark: str = "metaworld",
    inputs: Sequence[str] | None = None,
    seed: int = FIRST_SEED,
    output_dir: str | Path | None = None,
    job_name: str | None = None,
    trust_remote_code: bool = False,
    allow_mixed_versions: bool = False,
    progress: bool | None = None,
    listener: RecordingListener | None = None,
    **options: Any,
) -> FinishedRecording:
    """Record a policy's episodes as a dataset in LeRobot's format.

        demos = yardarm.record("expert", "reach-v3", root="data/reach", n_episodes=50, seed=100_000, features="states")
        training = yardarm.train("act", demos)

    `root` is the dataset's folder, or `repo_id` is its name on the Hub. `policy`, `tasks`, `benchmark` and `inputs` are
    those of `evaluate`. Choose another `seed` than for evaluations: a policy that is evaluated on what it was trained
    on looks better than it is.

    Episodes are first played without rendering; those to keep are replayed, and every step is looked at. Without
    images (``features="states"``) that takes seconds. `output_dir` is the folder of the run that plays them. After an
    interruption, the same call continues where it stopped.

    `progress` shows a progress bar; by default on a terminal and in a notebook. A `listener` hears of everything
    instead.
    """
    envs = benchmarks_of(tasks, benchmark)
    chosen, dataset = options_of("record", {**options, "root": root}, RecordOptions, RecordDatasetOptions)
    evaluation = EvalConfig(
        env=envs,
        policy=policy_maker(envs, inputs, trust_remote_code)(policy),
        eval=chosen.evaluation,
        seed=seed,
        output_dir=output_dir,  # type: ignore[arg-type]  # text becomes a path there
        job_name=job_name,
        trust_remote_code=trust_remote_code,
        resume=True,
        allow_mixed_versions=allow_mixed_versions,
    )
    config = RecordConfig(evaluation, chosen, dataset)
    heard = _Watch(open_console()) if shows_progress(progress, listener) else listener
    with interruption(RESUME):
        return FinishedRecording.of(run_recording(config, heard))


class _Watch(RecordingDisplay):
    """Shows how the episodes are played, too."""

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[EvaluationListener]:
        """Show the evaluation."""
        with open_display(self.console) as display:
            display.brief = True
            yield display
