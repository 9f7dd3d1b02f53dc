"""What people write on a run, a training or an evaluation of several policies: a name, tags, a note; and hiding it.

Labels are in a file of their own, `labels.json`, so that they can change while the run is played, and change nothing
about its results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from yardarm.contents import read_json
from yardarm.errors import UsageError
from yardarm.files import write_json
from yardarm.results.manifest.codec import Record
from yardarm.results.manifest.formats import check_format

__all__ = ["LABELS", "Labels", "labels_file", "read_labels", "write_labels"]

FORMAT = 1
LABELS = "labels.json"
LONGEST_NAME, LONGEST_TAG, LONGEST_NOTE, MOST_TAGS = 100, 40, 10_000, 20


@dataclass(frozen=True, slots=True)
class Labels(Record):
    """All of `labels.json`; without that file, nothing."""

    name: str = ""
    """What it is called, instead of its folder's name."""
    tags: tuple[str, ...] = ()
    note: str = ""
    hidden: bool = False
    """Whether lists omit it."""
    format: int = FORMAT


def labels_file(folder: Path) -> Path:
    """Where a folder's labels are."""
    return folder / LABELS


def read_labels(folder: Path) -> Labels:
    """A folder's labels; a UsageError if they are damaged, or from a later version of Yardarm."""
    path = labels_file(folder)
    try:
        content = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return Labels()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}") from error
    check_format(content, path, FORMAT)
    try:
        labels = Labels.from_json(content)
        _check(labels)
    except (ValueError, UsageError) as error:
        raise UsageError(f"{path} is damaged: {error}") from error
    return labels


def write_labels(folder: Path, labels: Labels) -> None:
    """Write a folder's labels; if there are none left, there is no file."""
    _check(labels)
    path = labels_file(folder)
    try:
        if labels == Labels():
            path.unlink(missing_ok=True)
        else:
            write_json(path, labels.to_json())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _check(labels: Labels) -> None:
    """Refuse what does not fit into a line of a list, or would not come out of a terminal as it went in."""
    name, note = labels.name, labels.note
    if len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"a name is one line of at most {LONGEST_NAME} characters, got {_shown(name)}")
    for tag in labels.tags:
        if not tag or len(tag) > LONGEST_TAG or "," in tag or not tag.isprintable() or tag != tag.strip():
            raise UsageError(f"a tag has 1 to {LONGEST_TAG} characters and no comma, got {_shown(tag)}")
    if len(labels.tags) > MOST_TAGS:
        raise UsageError(f"a run has at most {MOST_TAGS} tags, got {len(labels.tags)}")
    if len(note) > LONGEST_NOTE:
        raise UsageError(f"a note has at most {LONGEST_NOTE:,} characters, got {len(note):,}")
    if not all(line.replace("\t", " ").isprintable() for line in note.split("\n")):
        raise UsageError("a note is plain text, without control characters")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
