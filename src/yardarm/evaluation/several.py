"""An evaluation of several policies: they share the workers, and are compared at the end."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yardarm.config import write_config_file
from yardarm.envs import select_tasks
from yardarm.errors import one_line
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.config_file import config_to_data
from yardarm.evaluation.contestant import (
    Contestant,
    close_contestants,
    finish_contestants,
    leaving_nothing_unbegun,
    open_contestant,
)
from yardarm.evaluation.folders import open_several_folder
from yardarm.evaluation.lineup import Lineup, open_lineup
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.opened_folder import OpenedFolder
from yardarm.evaluation.preflight import check_requirements
from yardarm.evaluation.runners import check_runner
from yardarm.evaluation.session import Session
from yardarm.policies import PolicySpec
from yardarm.results import RunResult, SeveralFolder

__all__ = ["SeveralResults", "evaluate_several"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SeveralResults:
    """Where an evaluation of several policies is, and the results of each by its name."""

    path: Path
    runs: Mapping[str, RunResult]
    faults: Mapping[str, str]
    """Policies that failed, and why; the others were played without them."""
    notes: tuple[str, ...] = ()


def evaluate_several(config: EvalConfig, listener: EvaluationListener | None = None) -> SeveralResults:
    """Run what is missing of an evaluation of several policies, and return the results of each."""
    listener = listener or EvaluationListener()
    check_runner(config)
    listener.preparing("finding the tasks")
    tasks = select_tasks(config.envs, config.trust_remote_code)
    check_requirements(config, tasks)
    with open_lineup(config, tasks, listener) as lineup:
        return _evaluate(config, lineup, listener)


def _evaluate(config: EvalConfig, lineup: Lineup, listener: EvaluationListener) -> SeveralResults:
    opened, names = open_several_folder(config, next(iter(lineup.plans.values())), lineup.policies)
    folder = SeveralFolder(opened.path)
    if not names:  # a shard of fewer episodes than shards
        return SeveralResults(folder.path, {}, {}, lineup.notes)
    with _left_as_found(config, opened), _open_contestants(config, lineup, folder, names) as contestants:
        if folder.index.name not in opened.before:
            opened.name_after(config.job_name)
        _write_config(config, folder)
        session = Session(config, folder.whole, contestants, listener, at_once=lineup.at_once)
        try:
            with session.pictures() as pictures:
                session.play_missing_episodes()
                session.film()
                played = [contestant for player, contestant in enumerate(contestants) if player not in session.faults]
                finish_contestants(played, [session.warnings(contestant) for contestant in played])
                pictures.finish()
        finally:
            results = [session.summarise(contestant) for contestant in contestants]
            close_contestants(contestants, results)
            _write_report(folder)
    return SeveralResults(
        folder.path,
        {
            name: replace(result, warnings=contestant.manifest.current.warnings)
            for name, contestant, result in zip(names, contestants, results, strict=True)
        },
        {names[player]: str(fault) for player, fault in session.faults.items()},
        lineup.notes,
    )


@contextlib.contextmanager
def _left_as_found(config: EvalConfig, opened: OpenedFolder) -> Iterator[None]:
    """If all ends before the first episode of any policy is on disk, leave the folder as it was found."""
    folder = SeveralFolder(opened.path)
    try:
        yield
    except BaseException as error:
        if folder.index.name not in opened.before and not folder.run("").path.exists():
            opened.leave(config.job_name, keep_log=isinstance(error, Exception))
        raise


@contextlib.contextmanager
def _open_contestants(
    config: EvalConfig, lineup: Lineup, folder: SeveralFolder, names: Sequence[str]
) -> Iterator[list[Contestant]]:
    """A run for each policy, independent of the others."""
    contestants: list[Contestant] = []
    with leaving_nothing_unbegun(contestants), contextlib.ExitStack() as stack:
        for (listed, policy), name in zip(lineup.policies.items(), names, strict=True):
            own = replace(
                config,
                policy=policy.spec,
                rename_map=None,
                output_dir=folder.run(name).path,
                shard=None,
                job_name=None,
                eval=replace(config.eval, policies_at_once=0),
            )
            contestants.append(stack.enter_context(open_contestant(own, policy, lineup.plans[listed])))
        yield contestants


def _write_config(config: EvalConfig, folder: SeveralFolder) -> None:
    """Write the whole list down, unless it has an object, which no other process could make by its name."""
    if any(not isinstance(policy, PolicySpec) for policy in config.policies):
        return
    write_config_file(folder.whole.config, config_to_data(replace(config, output_dir=folder.path)))


def _write_report(folder: SeveralFolder) -> None:
    from yardarm.pages import write_several_report

    try:
        if folder.index.exists() and folder.begun():
            write_several_report(folder)
    except Exception as error:  # whatever it is: results are on disk, and `yardarm report` can try again
        log.warning("there is no %s (%s); the results are kept", folder.whole.report, one_line(error))
