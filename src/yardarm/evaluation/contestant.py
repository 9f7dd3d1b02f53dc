"""A policy's part in a run: what it plays, and where the results go."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from yardarm.comparison import EpisodeOutcome, outcome_of
from yardarm.config import write_config_file
from yardarm.engine import EpisodeResult, FixedBatching, Runner
from yardarm.errors import PolicyFault, StorageFault, UsageError, one_line
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.config_file import config_to_data
from yardarm.evaluation.filming import RunFilming
from yardarm.evaluation.folders import open_folder
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.software import refuse_other_versions
from yardarm.files import write_json
from yardarm.policies import LoadedPolicy
from yardarm.results import (
    BatchingRecord,
    EpisodeRecord,
    FinishedEpisode,
    Journal,
    ManifestWriter,
    PlayedEpisode,
    PolicyRecord,
    RunFolder,
    RunManifest,
    RunResult,
    SessionRecord,
    StoppingDeclaration,
    StoppingRecord,
    counted,
    eval_info,
    provenance,
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
    manifest: ManifestWriter
    filming: RunFilming
    crashed: bool = False
    """Whether the previous session was killed, or crashed."""

    @property
    def folder(self) -> RunFolder:
        """Where its results are."""
        return self.manifest.folder

    def fix_batching(self, runner: Runner) -> FixedBatching | None:
        """Set how the policy's batches are put together; returns what the manifest says about it."""
        stored = self.manifest.current.newest.batching
        before = FixedBatching(**asdict(stored)) if stored else None
        return runner.fix_batching(self.policy, self.config.eval.exact, before)

    def check_software(self, session: SessionRecord) -> None:
        """Refuse to continue episodes that other versions have played, unless that is allowed."""
        if self.journal.finished() and not self.config.allow_mixed_versions:
            refuse_other_versions(self.manifest, self._with_policy(session))

    def begin_session(self, session: SessionRecord, batching: FixedBatching | None = None) -> None:
        """Record what is going to be played, and with what."""
        self._write_config(self.folder)
        self.folder.policy_error.unlink(missing_ok=True)  # of an earlier session
        own = replace(self._with_policy(session), batching=BatchingRecord(**asdict(batching)) if batching else None)
        self.manifest.begin_session(own, from_scratch=not self.journal.finished())

    def _with_policy(self, session: SessionRecord) -> SessionRecord:
        # A policy in workers uses no torch, one behind a socket another; otherwise it was imported with the policy.
        infers_here = self.policy.policy.place == "host" and not self.policy.traits.lanes
        return replace(
            session,
            policy=PolicyRecord.from_json(self.policy.describe()),
            uses_torch=infers_here and "torch" in sys.modules,
        )

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
        """Record how far it is; if the folder was deleted, in the folder that has what was rescued."""
        if self.journal.watched.has_folder:
            self.manifest.close()
        elif self.journal.refuge is not None:
            refuge = RunFolder(self.journal.refuge.parent)
            self._write_config(refuge)
            self.manifest.move_to(refuge)

    def begin_if_new(self) -> None:
        """Record that there is nothing to play, as in a shard of a plan with fewer episodes than shards."""
        if not self.folder.manifest.exists():
            self.begin_session(provenance())

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

    def finished(self) -> list[EpisodeRecord]:
        """The plan's episodes that need not run again."""
        known = [self.record_of(episode) for episode in self.plan.episodes()]
        return [record for record in known if record is not None and record.status != "error"]

    def played(self) -> int:
        """How many episodes of the plan are on disk, whether they count or not."""
        return sum(self.plan.key(episode) in self.journal.records for episode in self.plan.episodes())

    def ended(self, result: EpisodeResult, place: int | None) -> FinishedEpisode:
        """What is stored of an episode, so that it counts."""
        record, played = self._recorded(result, place)
        return FinishedEpisode(record, played, self.folder, self.journal, result.job)

    def summarise(self, stopping: StoppingRecord | None) -> RunResult:
        """The results so far, of episodes that count."""
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
            mixed_versions=self.manifest.current.mixed_versions,
        )

    def write_summary(self, result: RunResult) -> None:
        """Write and draw the results, if anything was played."""
        if self.folder.manifest.exists():
            write_json(self.folder.eval_info, eval_info(result, self.folder.videos()))
            try:
                from yardarm.pages import write_report

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
    config: EvalConfig, policies: Sequence[LoadedPolicy], plan: Plan, declared: StoppingDeclaration | None
) -> Iterator[list[Contestant]]:
    """The run's policy in the run's folder; a second one in a folder inside it."""
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
    config: EvalConfig, policy: LoadedPolicy, plan: Plan, declared: StoppingDeclaration | None = None
) -> Iterator[Contestant]:
    """A policy with its plan, in the folder that the configuration names."""
    plan = replace(plan, policy_id=policy.id, stopping=declared)
    folder = open_folder(config, plan)
    filming = RunFilming(folder, plan, config.eval.videos)
    with Journal(folder.journal) as journal, contextlib.closing(filming):
        stored = folder.read_manifest() if folder.manifest.exists() else None
        manifest = ManifestWriter(folder, _named(plan.manifest(stored), config, folder))
        # We hold the journal, so no other process plays in this folder: a session that is marked as running is dead.
        crashed = stored is not None and stored.status == "running"
        yield Contestant(config, policy, plan, journal, manifest, filming, crashed)


def finish_contestants(contestants: Sequence[Contestant], warnings: Sequence[Sequence[str]]) -> None:
    """Finish those whose folder is still there; then raise what happened to the folder of another, if anything did."""
    faults = []
    for contestant, own in zip(contestants, warnings, strict=True):
        try:
            contestant.finish(own)
        except StorageFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def close_contestants(contestants: Sequence[Contestant], results: Sequence[RunResult]) -> None:
    """Record how far each is, then draw them: a page may compare two."""
    for contestant in contestants:
        contestant.close()
    for contestant, result in zip(contestants, results, strict=True):
        if contestant.journal.watched.in_place:
            contestant.write_summary(result)


def _named(manifest: RunManifest, config: EvalConfig, folder: RunFolder) -> RunManifest:
    """With the method and the training seed, which a run keeps."""
    flags = {
        "--method": (manifest.method, config.method),
        "--training_seed": (manifest.training_seed, config.training_seed),
    }
    for flag, (stored, given) in flags.items():
        if None not in (stored, given) and stored != given:
            raise UsageError(f"{folder.path} was made with {flag}={stored}, not {given}; choose another --output_dir")
    return replace(
        manifest,
        method=manifest.method if config.method is None else config.method,
        training_seed=manifest.training_seed if config.training_seed is None else config.training_seed,
    )


def _config_of_opponent(config: EvalConfig, policy: LoadedPolicy, path: Path) -> EvalConfig:
    """A run of its own, independent of the other, except that its intervals must allow for an early stop."""
    options = replace(config.eval, stop="", interval=config.eval.uncertainty.per_task)
    own = replace(config, policy=policy.spec, against=None, eval=options, output_dir=path)
    return replace(own, rename_map=None, method=None, training_seed=None, wandb=WandbOptions())
