"""What somebody noted while looking through a dataset: flagged episodes, and edits that are planned but not applied.

It lies in a file of its own, which LeRobot ignores. Episodes are named by their number and length, so that notes about
episodes that another program has removed since are not taken for notes about those that moved up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from yardarm.contents import count, list_of, map_of, read_json, record, text
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.errors import DatasetFault
from yardarm.files import write_json

__all__ = ["REVIEW_FILE", "EpisodeEdits", "Review", "read_review", "write_review"]

REVIEW_FILE = "meta/yardarm_review.json"
FORMAT = 1
REVIEW = record(
    {
        "format": count,
        "lengths": map_of(count),
        "flags": map_of(text),
        "deleted": list_of(count),
        "trimmed": map_of(list_of(count)),
        "relabelled": map_of(text),
    }
)


@dataclass(frozen=True, slots=True)
class EpisodeEdits:
    """Edits of single episodes, by their numbers before any of them is applied."""

    deleted: frozenset[int] = frozenset()
    trimmed: Mapping[int, range] = field(default_factory=dict)
    """The frames that are kept."""
    relabelled: Mapping[int, str] = field(default_factory=dict)

    @property
    def episodes(self) -> set[int]:
        """The episodes that are edited."""
        return {*self.deleted, *self.trimmed, *self.relabelled}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is edited."""
        return not self.episodes

    def of(self, episode: int, number: int | None = None) -> EpisodeEdits:
        """The edits of one episode, which may have another number from now on."""
        new = episode if number is None else number
        return EpisodeEdits(
            frozenset({new} if episode in self.deleted else ()),
            {new: self.trimmed[episode]} if episode in self.trimmed else {},
            {new: self.relabelled[episode]} if episode in self.relabelled else {},
        )

    def without(self, episodes: set[int]) -> EpisodeEdits:
        """The edits of all other episodes."""
        return EpisodeEdits(
            self.deleted - episodes,
            {number: kept for number, kept in self.trimmed.items() if number not in episodes},
            {number: task for number, task in self.relabelled.items() if number not in episodes},
        )

    def joined(self, other: EpisodeEdits) -> EpisodeEdits:
        """Both; the other's, where they disagree."""
        return EpisodeEdits(
            self.deleted | other.deleted,
            {**self.trimmed, **other.trimmed},
            {**self.relabelled, **other.relabelled},
        )


@dataclass(frozen=True, slots=True)
class Review:
    """Flagged episodes with the reasons, and planned edits."""

    flags: Mapping[int, str] = field(default_factory=dict)
    edits: EpisodeEdits = EpisodeEdits()

    def without(self, episodes: set[int]) -> Review:
        """Without any note about these episodes."""
        flags = {number: reason for number, reason in self.flags.items() if number not in episodes}
        return Review(flags, self.edits.without(episodes))

    def to_json(self) -> dict[str, Any]:
        """The flags and edits as plain data."""
        return {
            "flags": {str(number): self.flags[number] for number in sorted(self.flags)},
            "deleted": sorted(self.edits.deleted),
            "trimmed": {str(number): [kept.start, kept.stop] for number, kept in sorted(self.edits.trimmed.items())},
            "relabelled": {str(number): task for number, task in sorted(self.edits.relabelled.items())},
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Review:
        """Read plain data; ValueError if a newer version wrote it."""
        if content["format"] > FORMAT:
            raise ValueError(f"it has the format {content['format']}, and this version reads up to {FORMAT}")
        edits = EpisodeEdits(
            frozenset(content["deleted"]),
            {int(number): range(*kept) for number, kept in content["trimmed"].items()},
            {int(number): task for number, task in content["relabelled"].items()},
        )
        return cls({int(number): reason for number, reason in content["flags"].items()}, edits)


def read_review(meta: DatasetMetadata) -> Review:
    """What was noted about a dataset; notes about episodes that are no longer the same are ignored."""
    path = meta.root / REVIEW_FILE
    try:
        content = read_json(path)
        REVIEW(content, "")
        review = Review.from_json(content)
        lengths = {int(number): length for number, length in content["lengths"].items()}
    except FileNotFoundError:
        return Review()
    except (ValueError, TypeError, OSError) as error:
        raise DatasetFault(f"{path} is unreadable: {error}; delete it to start again") from error
    noted = {*review.flags, *review.edits.episodes}
    known = {episode.index: episode.length for episode in meta.episodes}
    review = review.without({number for number in noted if known.get(number) != lengths.get(number, -1)})
    trimmed = {number: kept for number, kept in review.edits.trimmed.items() if 0 < len(kept) < known[number]}
    return replace(review, edits=replace(review.edits, trimmed=trimmed))


def write_review(root: Path, review: Review, lengths: Sequence[int]) -> None:
    """Replace a dataset's notes; `lengths` are those of all its episodes."""
    noted = sorted({*review.flags, *review.edits.episodes})
    content = {"format": FORMAT, "lengths": {str(number): lengths[number] for number in noted}, **review.to_json()}
    path = root / REVIEW_FILE
    if noted:
        write_json(path, content)
    else:
        path.unlink(missing_ok=True)
