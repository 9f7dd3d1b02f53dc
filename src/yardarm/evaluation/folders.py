"""Finds or makes the folder of a run: a new one, the one that was named, or the newest that can go on."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.plan import Plan, describe_difference
from yardarm.policies import PolicySpec
from yardarm.results import RunFolder, read_journal

__all__ = ["open_folder"]

DEFAULT_ROOT = Path("outputs/eval")


def open_folder(config: EvalConfig, plan: Plan) -> RunFolder:
    """Return the run's folder, which exists afterwards; refuse one that holds another run."""
    path = config.output_dir or (_newest_unfinished(plan) if config.resume else None) or _new_path(config)
    folder = RunFolder(path)
    if folder.manifest.exists():
        stored = folder.read_manifest()["plan"]
        if stored != plan.identity():
            raise UsageError(
                f"{path} holds another run: {describe_difference(stored, plan.identity())}; choose another --output_dir"
            )
    elif folder.journal.exists() or folder.eval_info.exists():
        raise UsageError(f"{path} holds results of something else; choose another --output_dir")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output_dir {path} cannot be made: {error.strerror}") from error
    return folder


def _newest_unfinished(plan: Plan) -> Path | None:
    """The newest run of the same plan that lacks some of its episodes."""
    newest_first = sorted(DEFAULT_ROOT.glob("*/*/manifest.json"), key=lambda path: path.parts, reverse=True)
    for manifest in newest_first:
        folder = RunFolder(manifest.parent)
        try:
            if folder.read_manifest().get("plan_hash") != plan.hash():
                continue
            records = list(read_journal(folder.journal))
        except UsageError:
            continue  # a damaged run is not this one's business
        if plan.missing({record.key for record in records if record.status != "error"}):
            return folder.path
    return None


def _new_path(config: EvalConfig) -> Path:
    now = dt.datetime.now()
    policy = config.policy.type if isinstance(config.policy, PolicySpec) else type(config.policy).__name__
    name = config.job_name or f"{type(config.env).name}_{policy.rpartition(':')[2]}"
    path = DEFAULT_ROOT / f"{now:%Y-%m-%d}" / f"{now:%H-%M-%S}_{name}"
    copies = 1
    while path.exists():
        copies += 1
        path = path.with_name(f"{now:%H-%M-%S}_{name}-{copies}")
    return path
