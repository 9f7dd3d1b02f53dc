"""Labels of runs, trainings and evaluations, as lists show them and people change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yardarm.contents import flag, list_of, record, text
from yardarm.errors import UsageError
from yardarm.results import Labels, read_labels, write_labels

__all__ = ["LabelChange", "change_labels", "label_fields"]

CHANGE = record({}, {"name": text, "note": text, "hidden": flag, "add": list_of(text), "remove": list_of(text)})


@dataclass(frozen=True, slots=True)
class LabelChange:
    """What to change about labels; None leaves a label as it is."""

    name: str | None = None
    note: str | None = None
    hidden: bool | None = None
    add: tuple[str, ...] = ()
    """Tags to add."""
    remove: tuple[str, ...] = ()
    """Tags to remove."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> LabelChange:
        """Read a change that a page has sent."""
        try:
            CHANGE(content, "")
        except ValueError as error:
            raise UsageError(f"labels cannot be changed like that: {error}") from error
        tags = {name: tuple(content.get(name, ())) for name in ("add", "remove")}
        return cls(content.get("name"), content.get("note"), content.get("hidden"), **tags)

    def applied(self, labels: Labels) -> Labels:
        """The labels after the change."""
        kept = (tag for tag in labels.tags if tag not in self.remove)
        return replace(
            labels,
            name=labels.name if self.name is None else self.name.strip(),
            note=labels.note if self.note is None else self.note.replace("\r\n", "\n").rstrip(),
            hidden=labels.hidden if self.hidden is None else self.hidden,
            tags=tuple(dict.fromkeys((*kept, *(tag.strip() for tag in self.add)))),
        )


def change_labels(folder: Path, change: LabelChange) -> Labels:
    """Change a folder's labels, and return them."""
    labels = change.applied(read_labels(folder))
    write_labels(folder, labels)
    return labels


def label_fields(folder: Path) -> dict[str, Any]:
    """The labels as fields of a line; damaged ones are named, and hide nothing."""
    try:
        labels, problem = read_labels(folder), None
    except UsageError as error:
        labels, problem = Labels(), str(error)
    return {
        "title": labels.name or folder.name,
        "labels": {name: value for name, value in labels.to_json().items() if name != "format"},
        "labels_problem": problem,
    }
