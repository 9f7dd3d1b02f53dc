"""A policy's part in a run: what it is to play, and where that is kept."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yardarm.comparison import EpisodeOutcome, outcome_of
from yardarm.config import write_config_file
from yardarm.engine import EpisodeResult, Runner
from yardarm.errors import PolicyFault, StorageFault, UsageError, one_line
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.config_file import config_to_data
from yardarm.evaluation.filming import RunFilming
from yardarm.evaluation.folders import open_folder
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.software import refuse_other_versions
from yardarm.evaluation.stopping.rules import Declaration
from yardarm.files import write_json
from yardarm.pages import write_report
from yardarm.policies import LoadedPolicy
from yardarm.results import (
    EpisodeRecord,
    FinishedEpisode,
    Journal,
    Manifest,
    PlayedEpisode,
    RunFolder,
    RunResult,
    counted,
    eval_info,
    rescue,
    summarise,
)
from yardarm.tasks import EpisodeSpec
from yardarm.tracking import WandbOptions

__all__ = ["Contestant", "close_contestants", "finish_contestants", "open_contestant", "open_contestants"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Contestant:
    """A policy with a plan and a folder. A run has one, or two that play the same episodes; a list has as many."""

    config: EvalConfig
    policy: LoadedPolicy
    plan: Plan
    journal: Journal
    manifest: Manifest
    filming: RunFilming
    crashed: bool = False
    """Whether the session before this one ended without a word."""

    @property
    def folder(self) -> RunFolder:
        """Where its results are."""
        return self.manifest.folder

    def fix_batching(self, runner: Runner) -> dict[str, Any] | None:
        """Set how the policy's batches are put together; returns what the manifest shall say of it."""
        return runner.fix_batching(self.policy, self.config.eval.exact, self.manifest.inference)

    def check_software(self, software: Mapping[str, Any]) -> None:
        """Refuse to go on with episodes that other versions have played, unless that is allowed."""
        if self.journal.finished() and not self.config.allow_mixed_versions:
            refuse_other_versions(self.manifest, {**software, **self._described()})

    def begin_session(self, setting: Mapping[str, Any]) -> None:
        """Write down what is going to be played, and with what."""
        self._write_config(self.folder)
        self.folder.policy_error.unlink(missing_ok=True)  # of an earlier session
        self.manifest.begin_session({**setting, **self._described()}, anew=not self.journal.finished())

    def _described(self) -> dict[str, Any]:
        # In the workers there is no torch, behind a socket another; else it was imported when the policy was made.
        infers_here = self.policy.policy.place == "host" and not self.policy.traits.lanes
        return {"policy": self.policy.describe(), "uses_torch": infers_here and "torch" in sys.modules}

    def _write_config(self, folder: RunFolder) -> None:
        # The spec has the renaming among its options, where any policy finds it.
        resolved = replace(self.config, policy=self.policy.spec, rename_map=None, output_dir=folder.path)
        write_config_file(folder.config, config_to_data(resolved))

    def finish(self, warnings: Sequence[str]) -> None:
        """All is done, if it is still there."""
        if not self.journal.watched.in_place:
            raise rescue(self.journal)
        self.manifest.finish(warnings)

    def close(self) -> None:
        """Say how far it has come; if the folder was deleted, in the one that has what was saved of it."""
        if self.journal.watched.has_folder:
            self.manifest.close()
        elif self.journal.refuge is not None:
            refuge = RunFolder(self.journal.refuge.parent)
            self._write_config(refuge)
            self.manifest.move_to(refuge)

    def begin_if_new(self) -> None:
        """Write down that there is nothing to play, as in a shard of a plan that has fewer episodes than shards."""
        if not self.folder.manifest.exists():
            self.begin_session({})

    def note_fault(self, fault: PolicyFault) -> None:
        """Keep where in its code the policy failed."""
        if fault.trace:
            self.folder.policy_error.write_text(f"{fault}\n\n{fault.trace}", encoding="utf-8")

    def keep_current(self) -> None:
        """Have the manifest written now and then, as long as there is a folder for it."""
        if self.journal.watched.has_folder:
            self.manifest.keep_current()

    def record_of(self, episode: EpisodeSpec) -> EpisodeRecord | None:
        """What is known of an episode."""
        return self.journal.records.get(self.plan.key(episode))

    def outcome_of(self, record: EpisodeRecord) -> EpisodeOutcome:
        """How an episode went, and where it began."""
        return outcome_of(self.folder, record)

    def played(self) -> int:
        """How many episodes of the plan are on disk, counted or not."""
        return sum(self.plan.key(episode) in self.journal.records for episode in self.plan.episodes())

    def ended(self, result: EpisodeResult, place: int | None) -> FinishedEpisode:
        """What is to be kept of an episode, so that it counts."""
        record, played = self._recorded(result, place)
        return FinishedEpisode(record, played, self.folder, self.journal, result.job)

    def summarise(self, stopping: Mapping[str, Any] | None) -> RunResult:
        """The results so far, as far as they count."""
        keys = [self.plan.key(episode) for episode in self.plan.episodes()]
        records = [self.journal.records[key] for key in keys if key in self.journal.records]
        counting = counted(records, stopping)
        result = summarise(self.folder.path, self.plan.tasks, counting, len(keys), self.manifest.wall_s)
        shard = str(self.plan.shard) if self.plan.shard else None
        return replace(
            result,
            uncertainty=self.config.eval.uncertainty,
            stopping=stopping,
            shard=shard,
            mixed_versions=self.manifest.mixed_versions,
        )

    def write_summary(self, result: RunResult) -> None:
        """Write results down, if anything has begun, and draw them."""
        if self.folder.manifest.exists():
            write_json(self.folder.eval_info, eval_info(result, self.folder.videos()))
            try:
                write_report(self.folder)
            except Exception as error:  # whatever it is: results are on disk, and `yardarm report` can try again
                log.warning("there is no %s (%s); the results are kept", self.folder.report, one_line(error))

    def _recorded(self, result: EpisodeResult, place: int | None) -> tuple[EpisodeRecord, PlayedEpisode | None]:
        key, rollout = self.plan.key(result.episode), result.rollout
        if rollout is None:
            self.filming.drop(result.episode)
            record = EpisodeRecord(
                key, "error", error=result.error, place=place, attempts=result.attempts, timing=result.timing
            )
            return record, None
        self.filming.finish(result.episode)
        record = EpisodeRecord(
            key=key,
            status="success" if rollout.success else "failure",
            steps=len(rollout.rewards),
            sum_reward=float(rollout.rewards.sum()),
            max_reward=float(rollout.rewards.max()),
            terminated=rollout.terminated,
            fingerprints={str(step): value for step, value in rollout.fingerprints.items()},
            place=place,
            attempts=result.attempts,
            timing=result.timing,
        )
        return record, PlayedEpisode(rollout.actions, rollout.rewards, rollout.initial_state, rollout.travel)


@contextlib.contextmanager
def open_contestants(
    config: EvalConfig, policies: Sequence[LoadedPolicy], plan: Plan, declared: Declaration | None
) -> Iterator[list[Contestant]]:
    """The run's policy in the run's folder, and the second one, if there is one, in a folder inside of it."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(open_contestant(config, policies[0], plan, declared))
        contestants = [first]
        for policy in policies[1:]:
            mirrored = replace(declared, against=policies[0].id) if declared else None
            own = _config_of_opponent(config, policy, first.folder.opponent.path)
            contestants.append(stack.enter_context(open_contestant(own, policy, plan, mirrored)))
        yield contestants


@contextlib.contextmanager
def open_contestant(
    config: EvalConfig, policy: LoadedPolicy, plan: Plan, declared: Declaration | None = None
) -> Iterator[Contestant]:
    """A policy with its plan, in the folder that the configuration names."""
    plan = replace(plan, policy_id=policy.id, stopping=declared.to_json() if declared else None)
    folder = open_folder(config, plan)
    content = {**plan.to_json(), **_names(config, folder)}
    filming = RunFilming(folder, plan, config.eval.videos)
    with Journal(folder.journal) as journal, contextlib.closing(filming):
        # Nobody else plays in this folder, as the journal is ours: whoever is said to be running there is dead.
        crashed = folder.manifest.exists() and folder.read_manifest().get("status") == "running"
        yield Contestant(config, policy, plan, journal, Manifest(folder, content), filming, crashed)


def finish_contestants(contestants: Sequence[Contestant], warnings: Sequence[Sequence[str]]) -> None:
    """All is done of those whose folder is still there; then raise what has happened to another's, if anything has."""
    faults = []
    for contestant, own in zip(contestants, warnings, strict=True):
        try:
            contestant.finish(own)
        except StorageFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def close_contestants(contestants: Sequence[Contestant], results: Sequence[RunResult]) -> None:
    """Say of all how far they have come, then draw them: a page may show how two compare."""
    for contestant in contestants:
        contestant.close()
    for contestant, result in zip(contestants, results, strict=True):
        if contestant.journal.watched.in_place:
            contestant.write_summary(result)


def _names(config: EvalConfig, folder: RunFolder) -> dict[str, Any]:
    """The method and the training seed, which a run keeps."""
    stored = folder.read_manifest() if folder.manifest.exists() else {}
    given = {"method": config.method, "training_seed": config.training_seed}
    for name, value in given.items():
        if value is not None and stored.get(name, value) != value:
            raise UsageError(
                f"{folder.path} was made with --{name}={stored[name]}, not {value}; choose another --output_dir"
            )
    return {name: value for name, value in given.items() if value is not None}


def _config_of_opponent(config: EvalConfig, policy: LoadedPolicy, path: Path) -> EvalConfig:
    """A run of its own: it knows nothing of the other, but that its intervals must allow for an early stop."""
    options = replace(config.eval, stop="", interval=config.eval.uncertainty.per_task)
    own = replace(config, policy=policy.spec, against=None, eval=options, output_dir=path)
    return replace(own, rename_map=None, method=None, training_seed=None, wandb=WandbOptions())
