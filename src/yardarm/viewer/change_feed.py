"""Tells pages of runs and trainings that have come, changed or gone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool

from yardarm.errors import UsageError
from yardarm.viewer.catalogue import Catalogue
from yardarm.viewer.listing import Line
from yardarm.viewer.training_catalogue import TrainingCatalogue

__all__ = ["Changes"]

LOOK_EVERY_S = 1.0
# How much longer to wait than the last walk took: a large folder shall not cost a core.
REST = 20

Seen = Mapping[str, Sequence[Line]]
"""Lines by kind: those of runs, and those of trainings."""


class Changes:
    """Looks at what a page shows again and again, until the viewer is `closing`."""

    def __init__(self, runs: Catalogue, trainings: TrainingCatalogue, closing: Callable[[], bool]) -> None:
        self._runs = runs
        self._trainings = trainings
        self._closing = closing

    def of_all(self) -> AsyncIterator[Mapping[str, Any]]:
        """Follow all that there is."""
        return self._follow(self.everything)

    def of_run(self, name: str) -> AsyncIterator[Mapping[str, Any]]:
        """Follow a run, and that of a second policy inside of it, which is shown on the same page."""
        return self._follow(lambda: {"runs": self.lines_of([name, f"{name}/against"])})

    def of_training(self, name: str) -> AsyncIterator[Mapping[str, Any]]:
        """Follow a training, and the runs that evaluate its weights right now."""
        return self._follow(lambda: self._training(name))

    def everything(self) -> Seen:
        """A line about each run and each training that one walk finds."""
        found = list(self._runs.viewed.walk())
        return {"runs": self._runs.lines(found), "trainings": self._trainings.lines(found)}

    def _training(self, name: str) -> Seen:
        try:
            line = self._trainings.line(name)
        except UsageError:
            return {"runs": [], "trainings": []}
        return {"runs": self.lines_of(line.get("evaluating", ())), "trainings": [line]}

    def lines_of(self, names: Sequence[str]) -> list[Line]:
        """Lines about those of some runs that are there."""
        lines = []
        for name in names:
            with contextlib.suppress(UsageError):  # it has gone, or is not there yet
                lines.append(self._runs.line(name))
        return lines

    async def _follow(self, look: Callable[[], Seen]) -> AsyncIterator[Mapping[str, Any]]:
        before: Seen | None = None
        next_walk = 0.0
        while not self._closing():
            started = time.monotonic()
            if before is None or started >= next_walk:
                now = await run_in_threadpool(look)
                next_walk = started + REST * (time.monotonic() - started)
            else:
                now = await run_in_threadpool(self._brought_up_to_date, before)
            yield _news(before, now)
            before = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _brought_up_to_date(self, seen: Seen) -> Seen:
        return {
            "runs": self._runs.brought_up_to_date(seen.get("runs", ())),
            "trainings": self._trainings.brought_up_to_date(seen.get("trainings", ())),
        }


def _news(before: Seen | None, now: Seen) -> dict[str, Any]:
    """What has changed and gone; nothing, if there is no news. Who has just come, or come again, is told of all."""
    news: dict[str, Any] = {"all": before is None}
    for kind in ("runs", "trainings"):
        known = {line["name"]: line for line in (before or {}).get(kind, ())}
        lines = {line["name"]: line for line in now.get(kind, ())}
        changed = [line for name, line in lines.items() if known.get(name) != line]
        news[kind] = {"changed": changed, "gone": [name for name in known if name not in lines]}
    told = before is None or any(news[kind][what] for kind in ("runs", "trainings") for what in ("changed", "gone"))
    return news if told else {}
