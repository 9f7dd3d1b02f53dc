"""Chooses lines of a list: the same words on the command line and in the address of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yardarm.workspace.folder_catalogue import Line

__all__ = ["Filters", "searched_text"]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list is narrowed to; empty ones narrow nothing. `web/filters.js` does the same on the page."""

    search: str = ""
    """Words that must all occur, in any order."""
    status: str = ""
    benchmark: str = ""
    policy: str = ""
    """Part of a policy's id."""
    tag: str = ""
    hidden: bool = False
    """Whether hidden ones are listed, too."""

    def chosen(self, lines: Iterable[Line]) -> list[Line]:
        """The lines that fit; what lies in a hidden one is hidden with it."""
        lines = list(lines)
        hidden = {line["name"] for line in lines if line["labels"]["hidden"]}
        within = {line["name"]: line["within"] for line in lines}

        def is_hidden(name: str | None) -> bool:
            return name is not None and (name in hidden or is_hidden(within.get(name)))

        return [line for line in lines if self._fits(line) and (self.hidden or not is_hidden(line["name"]))]

    def _fits(self, line: Line) -> bool:
        text = searched_text(line)
        return (
            all(word in text for word in self.search.lower().split())
            and self.status in ("", line["status"])
            and (not self.benchmark or self.benchmark in line.get("benchmarks", ()))
            and self.policy.lower() in str(line.get("policy") or "").lower()
            and (not self.tag or self.tag in line["labels"]["tags"])
        )


def searched_text(line: Line) -> str:
    """All of a line that is searched for words."""
    labels = line["labels"]
    words = [line["name"], labels["name"], *labels["tags"], labels["note"], line["status"], line.get("policy")]
    words += [line.get("dataset"), *line.get("tasks", ()), *line.get("benchmarks", ()), *line.get("policies", ())]
    return " ".join(str(word) for word in words if word).lower()
