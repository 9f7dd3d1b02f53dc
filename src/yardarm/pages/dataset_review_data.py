"""The data of a review: flagged episodes, planned edits, and the commands that would do the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from yardarm.datasets import DatasetMetadata
from yardarm.datasets.review import EpisodeEdits, Review

__all__ = ["free_name", "review_data"]


def review_data(meta: DatasetMetadata, review: Review) -> dict[str, Any]:
    """The flags and edits, in words too, and the name that a new dataset would get."""
    name = free_name(meta.root)
    return {
        **review.to_json(),
        "summary": _summary(review.edits),
        "commands": list(_commands(meta.root, meta.root.with_name(name), review.edits)),
        "output": name,
    }


def free_name(root: Path) -> str:
    """A name for an edited copy beside a dataset."""
    names = [f"{root.name}_edited", *(f"{root.name}_edited_{number}" for number in range(2, 1000))]
    return next(name for name in names if not root.with_name(name).exists())


def _summary(edits: EpisodeEdits) -> str:
    """Like "3 deletions, 1 trim"; trims and new instructions of deleted episodes do not count."""
    rest = edits.without(set(edits.deleted))
    counts = {"deletion": len(edits.deleted), "trim": len(rest.trimmed), "new instruction": len(rest.relabelled)}
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count)


def _commands(root: Path, output: Path, edits: EpisodeEdits) -> Iterator[str]:
    """One command for each kind of edit; deletions come last, because they change the numbers of episodes."""
    rest = edits.without(set(edits.deleted))
    steps = []
    for kept in dict.fromkeys(rest.trimmed.values()):
        own = [number for number in rest.trimmed if rest.trimmed[number] == kept]
        steps.append(("trim", f"--episodes={_listed(own)} --start={kept.start} --end={kept.stop}"))
    for task in dict.fromkeys(rest.relabelled.values()):
        own = [number for number in rest.relabelled if rest.relabelled[number] == task]
        steps.append(("relabel", f"--episodes={_listed(own)} --task={shlex.quote(task)}"))
    if edits.deleted:
        steps.append(("delete", f"--episodes={_listed(sorted(edits.deleted))}"))
    for place, (name, flags) in enumerate(steps):
        folder, where = (output, "--in_place=true") if place else (root, f"--output={shlex.quote(str(output))}")
        yield f"yardarm dataset {name} {shlex.quote(str(folder))} {flags} {where}"


def _listed(numbers: Sequence[int]) -> str:
    """Numbers like 1,3,5-8."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
