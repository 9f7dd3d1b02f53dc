"""Finds or makes the folder of a run: a new one, the one that was named, or the newest that can be resumed."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.evaluation.config import LONGEST_NAME, EvalConfig
from yardarm.evaluation.opened_folder import OpenedFolder
from yardarm.evaluation.plan import Plan, describe_difference
from yardarm.evaluation.policy_names import free_name, numbered, policy_name
from yardarm.evaluation.sharding.shard import Shard
from yardarm.files import sweep
from yardarm.policies import LoadedPolicy, PolicySpec
from yardarm.results import PlanRecord, PolicyEntry, RunFolder, SeveralFolder, read_journal

__all__ = ["open_folder", "open_several_folder", "refuse_results_of_others"]

DEFAULT_ROOT = Path("outputs/eval")


def open_folder(config: EvalConfig, plan: Plan) -> OpenedFolder:
    """Return the run's folder, which exists afterwards; refuse one that holds another run."""
    opened = _made(config, config.run_dir or (_newest_of(plan) if config.resume else None))
    with opened.unmade_if_refused():
        path = opened.path
        if SeveralFolder(path).index.exists():
            raise UsageError(f"{path} holds an evaluation of several policies; choose another --output_dir")
        _check_plan(RunFolder(path), plan)
        _check_shard(RunFolder(path), plan.shard)
        if plan.shard:
            _check_plan(RunFolder(path.parent), plan)  # where the shards are merged
    return opened


def _check_plan(folder: RunFolder, plan: Plan) -> None:
    if folder.manifest.exists():
        stored = folder.read_manifest().plan
        if stored != plan.identity():
            raise UsageError(f"{folder.path} {_why_not(stored, plan.identity())}; choose another --output_dir")
    else:
        refuse_results_of_others(folder)


def refuse_results_of_others(folder: RunFolder) -> None:
    """Refuse a folder that is no run, but has results."""
    if folder.eval_info.exists() or (folder.journal.exists() and folder.journal.stat().st_size):
        raise UsageError(f"{folder.path} holds results of something else; choose another --output_dir")


def _check_shard(folder: RunFolder, wanted: Shard | None) -> None:
    if not folder.manifest.exists():
        return
    stored = folder.read_manifest().shard
    if stored == (wanted and str(wanted)):
        return
    several = SeveralFolder(folder.path.parent.parent)
    if wanted is None and several.index.exists():
        raise UsageError(
            f"{folder.path} is part of an evaluation of several policies, shard {stored}: resume all of them with "
            f"--config_path={several.whole.config}"
        )
    if wanted is None:
        raise UsageError(
            f"{folder.path} holds shard {stored}, not a whole run: add --shard={stored}, or choose another --output_dir"
        )
    held = f"shard {stored}, not {wanted}" if stored else f"a whole run, not shard {wanted}"
    raise UsageError(f"{folder.path} holds {held}; choose another --output_dir")


def open_several_folder(
    config: EvalConfig, plan: Plan, policies: Mapping[str, LoadedPolicy]
) -> tuple[OpenedFolder, list[str]]:
    """Return the folder of a list of policies, and what each is called in it; a list may grow and shrink."""
    wanted = replace(plan.identity(), policy=None)
    ids = [policy.id for policy in policies.values()]
    opened = _made(config, config.run_dir or (_newest_of_several(wanted, ids) if config.resume else None))
    with opened.unmade_if_refused():
        listed = _listed(_known_policies(SeveralFolder(opened.path), wanted), policies)
    SeveralFolder(opened.path).write_index(wanted, listed)
    names = {own.id: own.name for own in listed}
    return opened, [names[policy_id] for policy_id in ids]


def _known_policies(folder: SeveralFolder, wanted: PlanRecord) -> Sequence[PolicyEntry]:
    """The policies that were listed before; refuse a folder that holds something else."""
    path = folder.path
    if folder.index.exists():
        stored = folder.read_plan()
        if stored != wanted:
            raise UsageError(
                f"{path} holds another evaluation: {describe_difference(stored, wanted)}; choose another --output_dir"
            )
        return folder.read_policies()
    if any(file.exists() for file in (folder.whole.manifest, folder.whole.eval_info, folder.whole.journal)):
        raise UsageError(f"{path} holds the run of one policy; choose another --output_dir")
    return ()


def _listed(known: Sequence[PolicyEntry], policies: Mapping[str, LoadedPolicy]) -> list[PolicyEntry]:
    """Known policies under their names, the others under free ones."""
    listed = {own.id: own for own in known}
    for name, policy in policies.items():
        if policy.id not in listed:
            free = free_name(name, {own.name for own in listed.values()})
            listed[policy.id] = PolicyEntry(free, policy.id, _source(policy.spec))
    return list(listed.values())


def _source(spec: PolicySpec) -> str:
    return str(spec.options.get("path") or spec.options.get("url") or spec.type)


def _newest_of_several(plan: PlanRecord, ids: Sequence[str]) -> Path | None:
    """The newest evaluation of the same policies on the same plan."""
    newest_first = sorted(DEFAULT_ROOT.glob("*/*/evaluation.json"), key=lambda path: path.parts, reverse=True)
    for folder in (SeveralFolder(index.parent) for index in newest_first):
        with contextlib.suppress(UsageError):  # a damaged one does not concern this run
            if folder.read_plan() == plan and {own.id for own in folder.read_policies()} == set(ids):
                return folder.path
    return None


def _made(config: EvalConfig, path: Path | None) -> OpenedFolder:
    """Make the folder, and remove what a killed session left half done."""
    try:
        if path is None:
            return _new_folder(config)
        opened = OpenedFolder.make(path)
        sweep(path)
    except OSError as error:
        raise UsageError(f"--output_dir {path or DEFAULT_ROOT} cannot be made: {error.strerror}") from error
    return opened


def _why_not(stored: PlanRecord, wanted: PlanRecord) -> str:
    """Why an existing run cannot be continued."""
    if replace(stored, stopping=None) != replace(wanted, stopping=None):
        return f"holds another run: {describe_difference(stored, wanted)}"
    before, now = (plan.stopping.to_json() if plan.stopping else {} for plan in (stored, wanted))
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if changed == ["outcomes"]:
        return "was started against a run that has other outcomes now"
    return (
        f"was started with {_flags(before, changed)}, and cannot be resumed with {_flags(now, changed)}: what is "
        "declared about early stopping is fixed at the start, because changing the maximum or the rule when results "
        "are known finds differences that are not there, and the order of play depends on the number of episodes"
    )


def _flags(stopping: dict[str, Any], changed: Sequence[str]) -> str:
    if not stopping:
        return "no early stopping"
    names = {"rule": "--eval.stop", "against": "--against"}
    shown = [name for name in changed if name in stopping and name != "outcomes"]
    return " ".join(f"{names.get(name, f'--eval.{name}')}={stopping[name]}" for name in shown) or "none of that"


def _newest_of(plan: Plan) -> Path | None:
    """The newest unfinished run of a plan; if all are finished, the newest."""
    newest_first = sorted(DEFAULT_ROOT.glob("*/*/manifest.json"), key=lambda path: path.parts, reverse=True)
    finished = None
    for folder in (RunFolder(manifest.parent) for manifest in newest_first):
        try:
            manifest = folder.read_manifest()
            if manifest.plan_hash != plan.hash() or manifest.shard is not None:
                continue
            done = {record.key for record in read_journal(folder.journal) if record.status != "error"}
        except UsageError:
            continue  # a damaged run is not this one's business
        if manifest.status != "finished" or (plan.missing(done) and not manifest.decided):
            return folder.path
        finished = finished or folder.path
    return finished


def _new_folder(config: EvalConfig) -> OpenedFolder:
    """Make a folder that no other run has, even if one starts in the same second."""
    benchmarks = "+".join(dict.fromkeys(env.name for env in config.envs))
    who = f"{len(config.policies)}_policies" if config.several else policy_name(config.policies[0])
    name = config.job_name or f"{benchmarks}_{who}"[:LONGEST_NAME]
    now = dt.datetime.now()
    for copy in numbered(f"{now:%H-%M-%S}_{name}"):
        path = DEFAULT_ROOT / f"{now:%Y-%m-%d}" / copy
        with contextlib.suppress(FileExistsError):
            return OpenedFolder.make(path, must_be_new=True)
    raise AssertionError("there is always another number")
