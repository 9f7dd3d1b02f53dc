"""The results that Python's functions return: those of the rooms below, which can also show themselves."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Self

from yardarm.comparison import Comparison, LerobotAssumptions, compare, read_runs
from yardarm.errors import UsageError
from yardarm.evaluation import SeveralResults
from yardarm.results import RunResult, SeveralFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from yardarm.report import Sheet

__all__ = ["ComparedRuns", "EvaluatedRun", "EvaluatedRuns", "Shown"]


class Shown:
    """A result that prints as a table, and that notebooks show as HTML."""

    __slots__ = ()

    @classmethod
    def of(cls, result: Any) -> Self:
        """The same result, which can show itself."""
        return cls(**{field.name: getattr(result, field.name) for field in dataclasses.fields(result)})

    def _sheet(self) -> Sheet:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._sheet().text()

    def __repr__(self) -> str:
        return str(self)  # as pandas does it: a prompt shows the table

    def _repr_html_(self) -> str:
        return self._sheet().html()


class ComparedRuns(Shown, Comparison):
    """Which of several runs is better, and how certain that is."""

    __slots__ = ()

    def to_pandas(self) -> DataFrame:
        """A row per pair of runs and task; the task ``(all)`` is their total."""
        from yardarm.report import comparison_frame

        return comparison_frame(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The differences of two runs, task by task; the success rates of more than two."""
        from yardarm.report import comparison_plot, draw_forest

        return draw_forest(comparison_plot(self), ax)

    def _sheet(self) -> Sheet:
        from yardarm.report import comparison_sheet

        return comparison_sheet(self)


class EvaluatedRun(Shown, RunResult):
    """The results of an evaluation: `tasks`, `episodes`, `counts`, and the folder `path` that has everything."""

    __slots__ = ()

    def to_pandas(self) -> DataFrame:
        """A row per episode; an error has no outcome (``NA``)."""
        from yardarm.report import episodes_frame

        return episodes_frame(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The success rate of each task with its interval, on new axes or on `ax`."""
        from yardarm.report import draw_forest, run_plot

        return draw_forest(run_plot(self), ax)

    def comparison(self) -> ComparedRuns:
        """The comparison with what it was evaluated `against`."""
        if self.against is None:
            raise UsageError(f"{self.path} was not evaluated against anything: use yardarm.compare(run, other_run)")
        seeds = [record.key.seed - record.key.index for record in self.episodes[:1]]
        assumed = LerobotAssumptions(*seeds)
        runs = read_runs([self.path, self.against], assumed, allow_unfinished=True)
        return ComparedRuns.of(compare(runs, confidence=self.uncertainty.confidence))

    def _sheet(self) -> Sheet:
        from yardarm.report import Sheet, results_sheet

        blocks = [*results_sheet(self).blocks, *(f"Warning: {warning}." for warning in self.warnings)]
        if self.stopping is None and len(self.episodes) < self.planned:
            blocks.append(
                f"Not finished: {len(self.episodes)} of {self.planned} episodes. Those that finish first are often "
                "successes, so these rates may be too high."
            )
        if self.counts.errors:
            blocks.append(
                f"{self.counts.errors} of {self.planned} episodes ended in errors, which count as neither success nor "
                "failure; the same call with resume=True retries them."
            )
        if self.against is not None and self.stopping is None and self.counts.episodes:
            blocks += ["", *self.comparison()._sheet().blocks]
        return Sheet((*blocks, f"Results: {self.path}"))


class EvaluatedRuns(Shown, SeveralResults):
    """The results of several policies on the same episodes: `runs` by name, `faults` of those that failed."""

    __slots__ = ()

    @classmethod
    def of(cls, result: SeveralResults) -> Self:
        """The same results, each of which can show itself."""
        runs = {name: EvaluatedRun.of(run) for name, run in result.runs.items()}
        return cls(result.path, runs, result.faults, result.notes)

    def to_pandas(self) -> DataFrame:
        """A row per episode of each policy."""
        from yardarm.report import episodes_frame

        return episodes_frame(self.runs)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The success rate of each policy, or what `ComparedRuns.plot` shows of two."""
        return self.comparison().plot(ax)

    def comparison(self) -> ComparedRuns:
        """How the policies compare."""
        runs = read_runs([run.path for run in SeveralFolder(self.path).begun()], allow_unfinished=True)
        confidence = next(iter(self.runs.values())).uncertainty.confidence
        return ComparedRuns.of(compare(runs, confidence=confidence))

    def _sheet(self) -> Sheet:
        from yardarm.report import Sheet, results_sheet

        begun = [run for run in self.runs.values() if run.episodes]
        if len(begun) > 1:
            blocks = self.comparison()._sheet().blocks
        else:
            blocks = tuple(block for run in begun for block in results_sheet(run).blocks)
        faults = (f"{name} failed: {fault.strip().splitlines()[-1]}." for name, fault in self.faults.items())
        return Sheet((*blocks, *(f"Note: {note}." for note in self.notes), *faults, f"Results: {self.path}"))
