"""Reads runs from paths: folders of Yardarm, or files of LeRobot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.comparison.lerobot_run import LerobotAssumptions, read_eval_info
from yardarm.comparison.outcomes import RunOutcomes
from yardarm.comparison.yardarm_run import read_yardarm_run
from yardarm.errors import UsageError
from yardarm.results import RunFolder, SeveralFolder

__all__ = ["read_runs", "run_folder", "runs_in"]


def read_runs(
    paths: Sequence[Path], assumed: LerobotAssumptions | None = None, allow_unfinished: bool = False
) -> list[RunOutcomes]:
    """Read runs of Yardarm (folders) and of LeRobot (``eval_info.json``, or its folder)."""
    places = [path.absolute() for path in paths]
    folders = [run_folder(path) for path in places]
    for path, folder in zip(paths, folders, strict=True):
        if folders.count(folder) > 1:
            raise UsageError(f"{path} is given twice; give different runs")
    names = _short_names(places)
    assumed = assumed or LerobotAssumptions()
    return [_read(path, name, assumed, allow_unfinished) for path, name in zip(places, names, strict=True)]


def runs_in(paths: Sequence[Path]) -> list[Path]:
    """The same paths, with each evaluation of several policies replaced by its runs."""
    found: list[Path] = []
    for path in paths:
        several = SeveralFolder(path)
        found += [run.path for run in several.begun()] if several.index.exists() else [path]
    return found


def run_folder(path: Path) -> Path:
    """The canonical path of a run's folder."""
    whole = path.resolve()
    return whole.parent if whole.name == "eval_info.json" else whole


def _read(path: Path, name: str, assumed: LerobotAssumptions, allow_unfinished: bool) -> RunOutcomes:
    folder = RunFolder(path.parent if path.name == "eval_info.json" else path)
    if folder.manifest.exists():
        run = read_yardarm_run(folder, name, allow_unfinished)
    elif path.is_file():
        run = read_eval_info(path, name, assumed, allow_unfinished)
    elif folder.eval_info.is_file():
        run = read_eval_info(folder.eval_info, name, assumed, allow_unfinished)
    elif not path.exists():
        raise UsageError(f"there is no run {path}")
    else:
        raise UsageError(
            f"{path} is not a run: it has neither a manifest.json (Yardarm) nor an eval_info.json (LeRobot)"
        )
    if not run.outcomes:
        raise UsageError(f"{path} has no finished episode")
    return run


def _short_names(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that are unique."""
    folders = [path.parent if path.name == "eval_info.json" else path for path in paths]
    if len(set(folders)) < len(folders):
        folders = list(paths)
    # A run's second policy is named after the run that it played in.
    shortest = 2 if any(folder.name == "against" for folder in folders) else 1
    for length in range(shortest, max(len(folder.parts) for folder in folders) + 1):
        names = ["/".join(folder.parts[-length:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
