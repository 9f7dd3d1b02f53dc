"""Compare runs, and read one that is on disk."""

from __future__ import annotations

from pathlib import Path

from yardarm.api.functions import api_function
from yardarm.api.results import ComparedRuns, EvaluatedRun
from yardarm.comparison import compare as compare_runs
from yardarm.comparison import read_runs, runs_in
from yardarm.config import fitted
from yardarm.errors import UsageError
from yardarm.evaluation import SeveralResults
from yardarm.results import RunFolder, RunResult, SeveralFolder, read_result
from yardarm.stats import CONFIDENCE

__all__ = ["compare", "read_run"]


@api_function()
def compare(
    *runs: str | Path | RunResult | SeveralResults,
    paired: bool = True,
    confidence: float = CONFIDENCE,
    allow_unfinished: bool = False,
) -> ComparedRuns:
    """Compare runs: Yardarm's folders, LeRobot's ``eval_info.json``, or results of `evaluate`.

    The results of `evaluate_several` stand for all of their runs.

    Episodes are paired by task, index, seed and initial state, unless `paired` is false. `allow_unfinished` accepts
    runs that are not finished; their rates are biased, because quick episodes, often successes, finish first.

    The answer prints as a table; `plot()` draws it, `to_pandas()` has it as a DataFrame.
    """
    fitted("paired", bool, paired)
    fitted("allow_unfinished", bool, allow_unfinished)
    if not 0.5 <= fitted("confidence", float, confidence) < 1:
        raise UsageError(f"confidence must be at least 0.5 and below 1, got {confidence}")
    folders = runs_in([_folder(run) for run in runs])
    if len(folders) < 2:
        raise UsageError(f"compare needs at least two runs, got {len(folders)}")
    return ComparedRuns.of(compare_runs(read_runs(folders, allow_unfinished=allow_unfinished), paired, confidence))


@api_function()
def read_run(path: str | Path) -> EvaluatedRun:
    """The results of a run that is on disk, finished or not: the folder that `evaluate` or ``yardarm eval`` wrote."""
    folder = RunFolder(fitted("path", Path, path).expanduser())
    several = SeveralFolder(folder.path)
    if several.index.exists():
        names = ", ".join(entry.name for entry in several.read_policies())
        raise UsageError(f"{path} holds the runs of several policies: read one of policies/… in it ({names})")
    return EvaluatedRun.of(read_result(folder).result)


def _folder(run: str | Path | RunResult | SeveralResults) -> Path:
    if isinstance(run, RunResult | SeveralResults):
        return run.path
    return fitted("each run", Path, run)
