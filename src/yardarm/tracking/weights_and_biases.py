"""Tracks a run with Weights & Biases. If tracking fails, the evaluation continues."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable
from typing import Any

from yardarm.results import Counts, EpisodeRecord, ManifestWriter, RunFolder, RunManifest, RunResult, TrackingRecord
from yardarm.tracking.connection import Connection, FaultTolerance, connect
from yardarm.tracking.content import Rows, episode_rows, named_tasks, summary_values, task_rows
from yardarm.tracking.options import WandbOptions
from yardarm.tracking.package import staging_in, without_prompts
from yardarm.tracking.tracker import Tracker

__all__ = ["WandbTracker", "open_tracker", "tracked_text"]

# A call costs half a millisecond, and ten thousand quick episodes may take only a minute.
LOG_EVERY_S = 1.0
LONGEST_TAG = 64


def open_tracker(options: WandbOptions) -> Tracker:
    """The tracker that the options ask for; an error if wandb is not installed or not logged in."""
    connection = connect(options)
    return Tracker() if connection is None else WandbTracker(options, connection)


def tracked_text(folder: RunFolder) -> str:
    """A line that says where a run's tracking is; empty if it was not tracked."""
    tracking = folder.read_manifest().tracking or TrackingRecord()
    if tracking.url:
        return f"Tracked: {tracking.url}"
    return f"Tracked offline; upload it with: wandb sync {tracking.files}" if tracking.files else ""


class WandbTracker(Tracker):
    """A run at Weights & Biases, which a resumed evaluation continues."""

    def __init__(self, options: WandbOptions, connection: Connection) -> None:
        self._options = options
        self._connection = connection
        self._wandb = connection.wandb
        self._run: Any = None
        self._tolerating = FaultTolerance("evaluation")
        self._successes = self._episodes = self._errors = 0
        self._logged = -LOG_EVERY_S

    def attach(self, manifest: ManifestWriter) -> None:
        """Choose the run's W&B id: the given one, that of earlier sessions, or a new one."""
        self._manifest, self._folder = manifest, manifest.folder
        before = manifest.current.tracking
        self._id = self._options.run_id or (before and before.id) or secrets.token_hex(4)
        self._tracking = TrackingRecord(self._id, self._options.project)
        manifest.note_tracked(self._tracking)

    def begin(self, known: Iterable[EpisodeRecord]) -> None:
        """Start the W&B run, or resume it."""
        counts = Counts.of(known)  # errors are retried
        self._successes, self._episodes = counts.successes, counts.episodes
        with self._tolerating("could not be started"):
            self._run = self._start()
            # The rate so far favours successes, which end early, so it must not become the run's result.
            self._run.define_metric("running/*", step_metric="running/episodes", summary="none")
            self._manifest.note_tracked(self._connection.located(self._tracking, self._run))

    def count(self, record: EpisodeRecord) -> None:
        """Log the number of finished episodes and their success rate, at most once per second."""
        self._successes += record.success
        self._episodes += record.status != "error"
        self._errors += record.status == "error"
        if self._run is not None and not self._tolerating.failed and time.monotonic() - self._logged >= LOG_EVERY_S:
            with self._tolerating("could not log an episode"):
                self._log_running()

    def finish(self, result: RunResult) -> None:
        """Log the results and, if the run is finished, its videos and files."""
        if self._run is None:
            return
        finished = False
        with self._tolerating("could not log the results"), staging_in(self._folder.path / "wandb"):
            finished = self._folder.read_manifest().status == "finished"
            self._log_running()
            self._run.summary.update(summary_values(result))
            self._run.log({"tasks": self._table(task_rows(result)), "episodes": self._table(episode_rows(result))})
            if finished:
                self._log_videos(result)
            if finished and not self._options.disable_artifact:
                self._log_artifact()
        with self._tolerating("could not upload everything; `wandb sync` does that later"):
            self._run.finish(exit_code=0 if finished else 1)
        self._run = None

    def _start(self) -> Any:
        import yaml

        folder, options, manifest = self._folder, self._options, self._folder.read_manifest()
        # The file contains no secrets; the configuration in memory may.
        config = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
        with without_prompts():
            return self._wandb.init(
                project=options.project,
                entity=options.entity,
                notes=options.notes,
                tags=_tags(manifest) if options.add_tags else None,
                name=config.get("job_name") or folder.path.absolute().name,
                config={**config, "made_with": _made_with(manifest)},
                dir=str(folder.path.absolute()),
                job_type="eval",
                id=self._id,
                mode=self._connection.mode,
                resume="allow",
                allow_val_change=True,
                reinit="create_new",  # a training script may have its own run open
                settings=self._connection.settings(),
            )

    def _log_running(self) -> None:
        self._logged = time.monotonic()
        rate = self._successes / self._episodes if self._episodes else None
        values = {"episodes": self._episodes, "success_rate": rate, "errors": self._errors}
        self._run.log({f"running/{name}": value for name, value in values.items() if value is not None})

    def _table(self, table: Rows) -> Any:
        return self._wandb.Table(columns=list(table.columns), data=[list(row) for row in table.rows])

    def _log_videos(self, result: RunResult) -> None:
        find = self._folder.videos()
        videos = {
            f"videos/{name}": [
                self._wandb.Video(path, caption=_caption(record), format="mp4")
                for record in task.episodes
                for path in find(record.key)
            ]
            for name, task in named_tasks(result).items()
        }
        if shown := {name: own for name, own in videos.items() if own}:
            self._run.log(shown)

    def _log_artifact(self) -> None:
        folder = self._folder
        artifact = self._wandb.Artifact(re.sub(r"[^\w.-]", "_", f"run-{self._id}-evaluation"), type="evaluation")
        for path in (folder.eval_info, folder.manifest, folder.config, folder.journal, folder.report):
            if path.exists():
                artifact.add_file(str(path))
        self._run.log_artifact(artifact)


def _caption(record: EpisodeRecord) -> str:
    return f"episode {record.key.index}, seed {record.key.seed}: {record.status}"


def _made_with(manifest: RunManifest) -> dict[str, Any]:
    """What the run was made with, besides its configuration."""
    session = manifest.newest
    return {
        "versions": dict(session.versions),
        "mixed_versions": manifest.mixed_versions,
        "environment_variables": dict(session.environment_variables or {}),
        "machine": session.machine.to_json() if session.machine else None,
        "git_commit": session.git_commit,
        "command": list(session.command),
        "renderer": session.renderer,
        "batch_size": session.batch_size,
    }


def _tags(manifest: RunManifest) -> list[str]:
    """Tags like LeRobot's: kind, colon, value."""
    tags = [f"policy:{manifest.plan.policy}", *(f"env:{name}" for name in manifest.benchmarks)]
    if manifest.method:
        tags.append(f"method:{manifest.method}")
    return [tag[:LONGEST_TAG] for tag in tags]
