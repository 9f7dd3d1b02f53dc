"""Feeds open pages with changes: runs, trainings and evaluations that are new, changed or gone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool

from yardarm.errors import UsageError
from yardarm.workspace import KINDS, Line, Lines, Workspace

__all__ = ["ChangeFeed"]

LOOK_EVERY_S = 1.0
# Wait this many times as long as the last walk took, so that a large folder does not keep a core busy.
REST = 20


class ChangeFeed:
    """Checks regularly for changes of what a page shows, until the viewer is `closing`."""

    def __init__(self, workspace: Workspace, closing: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._closing = closing
        self._made = 0

    def made(self) -> None:
        """A page has changed something: all of them see it at once."""
        self._made += 1

    def of_all(self) -> AsyncIterator[Mapping[str, Any]]:
        """Follow everything."""
        return self._follow(self._workspace.lines)

    def of_run(self, name: str) -> AsyncIterator[Mapping[str, Any]]:
        """Follow a run, and the run of its second policy, which is shown on the same page."""
        return self._follow(
            lambda: {"runs": self._with_pictures(self.lines_of([name, f"{name}/against"]))}, one_run=True
        )

    def of_training(self, name: str) -> AsyncIterator[Mapping[str, Any]]:
        """Follow a training, and the runs that evaluate its weights at the moment."""
        return self._follow(lambda: self._training(name))

    def _training(self, name: str) -> Lines:
        try:
            line = self._workspace.trainings.line(name)
        except UsageError:
            return {"runs": [], "trainings": []}
        return {"runs": self.lines_of(line.get("evaluating", ())), "trainings": [line]}

    def lines_of(self, names: Sequence[str]) -> list[Line]:
        """The lines of these runs, as far as they exist."""
        lines = []
        for name in names:
            with contextlib.suppress(UsageError):  # it is gone, or does not exist yet
                lines.append(self._workspace.runs.line(name))
        return lines

    def _with_pictures(self, lines: Sequence[Line]) -> list[Line]:
        """With the number of pictures, which are drawn when a run has long finished, too."""
        counts = [
            sum(1 for _ in (self._workspace.runs.folder(line["name"]).path / "pictures").rglob("*.jpg"))
            for line in lines
        ]
        return [{**line, "pictures": pictures} for line, pictures in zip(lines, counts, strict=True)]

    async def _follow(self, look: Callable[[], Lines], one_run: bool = False) -> AsyncIterator[Mapping[str, Any]]:
        before: Lines | None = None
        next_walk, seen = 0.0, self._made
        while not self._closing():
            started = time.monotonic()
            if before is None or one_run or seen != self._made or started >= next_walk:
                seen = self._made
                now = await run_in_threadpool(look)
                next_walk = started + REST * (time.monotonic() - started)
            else:
                now = await run_in_threadpool(self._refreshed, before)
            yield _changes(before, now)
            before = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _refreshed(self, lines: Lines) -> Lines:
        return {kind: getattr(self._workspace, kind).refreshed(lines.get(kind, ())) for kind in KINDS}


def _changes(before: Lines | None, now: Lines) -> dict[str, Any]:
    """What is new, changed or gone; empty if nothing is. A page that has just connected gets everything."""
    changes: dict[str, Any] = {"all": before is None}
    for kind in KINDS:
        known = {line["name"]: line for line in (before or {}).get(kind, ())}
        lines = {line["name"]: line for line in now.get(kind, ())}
        changed = [line for name, line in lines.items() if known.get(name) != line]
        changes[kind] = {"changed": changed, "gone": [name for name in known if name not in lines]}
    some = before is None or any(changes[kind][what] for kind in KINDS for what in ("changed", "gone"))
    return changes if some else {}
