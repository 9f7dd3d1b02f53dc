"""Ticks on their way to the encoder: hidden files in the dataset's folder, which stay until their episode is saved.

    .spool-812-000003-000000.ticks, …   the ticks of an episode, some megabytes in each file
    .spool-812-000003-0.0000.mp4, …     pictures that are encoded; then the files of their ticks are removed
    .spool-812-000003-numbers.rows      the numbers of all ticks
    .spool-812-000003.recording         what all this is; its ending says how far the episode is:

    recording ── the episode has ended ──▶ ended ── the dataset grows ──▶ saving-17 ──▶ all its files are removed
                                             ▲────────── it fails ───────────┘

If the disk is full, or the encoder ends, what has ended is still there: whoever opens the dataset next saves it. The
number after "saving" is the place that it gets in the dataset, so that it is never saved twice.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from yardarm.recording.robot.tick_layout import Buffer, TickLayout

__all__ = [
    "PIECE",
    "EpisodeReader",
    "SpoolSpec",
    "SpoolWriter",
    "SpooledEpisode",
    "remove_unended",
    "spooled",
    "waiting_in",
]

FILE_SIZE = 16 * 2**20
# So many ticks, or a few more, become a piece of a video that is complete on its own.
PIECE = 256
SPOOL = ".spool-"
RECORDING, ENDED, SAVING = "recording", "ended", "saving-"
NAME = re.compile(rf"{re.escape(SPOOL)}\d+-\d+")
MARK = re.compile(rf"{re.escape(SPOOL)}(\d+)-(\d+)\.({RECORDING}|{ENDED}|{SAVING}\d+)")


@dataclass(frozen=True, slots=True)
class SpoolSpec:
    """What is needed to read an episode's ticks, and to save them, whoever does it."""

    layout: TickLayout
    task: str


@dataclass(frozen=True, slots=True)
class SpooledEpisode:
    """The files of an episode that is not in the dataset yet; `owner` is the process that writes them."""

    root: Path
    owner: int
    number: int

    @property
    def name(self) -> str:
        """What its files' names begin with."""
        return f"{SPOOL}{self.owner}-{self.number:06d}"

    def ticks_file(self, number: int) -> Path:
        """One of the files of its ticks."""
        return self.root / f"{self.name}-{number:06d}.ticks"

    @property
    def rows_file(self) -> Path:
        """The numbers of its ticks."""
        return self.root / f"{self.name}-numbers.rows"

    @property
    def mark(self) -> str:
        """How far it is; empty if it has not begun."""
        return next((path.suffix[1:] for path in self.root.glob(f"{self.name}.*")), "")

    @property
    def has_ended(self) -> bool:
        """Whether it is whole."""
        return self.mark not in ("", RECORDING)

    @property
    def place(self) -> int | None:
        """The place in the dataset that it was about to get."""
        return int(self.mark.removeprefix(SAVING)) if self.mark.startswith(SAVING) else None

    def begin(self, spec: SpoolSpec) -> None:
        """Write down what its ticks are."""
        self._marked(RECORDING).write_text(json.dumps({"layout": spec.layout.to_json(), "task": spec.task}))

    def spec(self) -> SpoolSpec:
        """What its ticks are."""
        content = json.loads(self._marked(self.mark).read_bytes())
        return SpoolSpec(TickLayout.from_json(content["layout"]), content["task"])

    def end(self) -> None:
        """It is whole: from here on it cannot be lost. A full disk has space for another name."""
        self._marked(self.mark).rename(self._marked(ENDED))

    def save_as(self, place: int) -> None:
        """It is about to become the dataset's episode of this number."""
        self._marked(self.mark).rename(self._marked(f"{SAVING}{place}"))

    def remove(self) -> None:
        """Remove its files; the mark goes last, so that nothing is left that nobody knows."""
        for path in (*self.root.glob(f"{self.name}-*"), *self.root.glob(f"{self.name}.*")):
            path.unlink(missing_ok=True)

    def _marked(self, mark: str) -> Path:
        return self.root / f"{self.name}.{mark}"


def spooled(root: Path) -> list[SpooledEpisode]:
    """The episodes that are not in the dataset yet, in the order in which they were recorded."""
    marks = [(_age(path), found) for path in root.glob(f"{SPOOL}*") if (found := MARK.fullmatch(path.name))]
    return [SpooledEpisode(root, int(found[1]), int(found[2])) for _, found in sorted(marks, key=lambda own: own[0])]


def _age(path: Path) -> int:
    """When a mark was made: a new name leaves the time as it is."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # it just gets another name
        return 0


def waiting_in(root: Path) -> int:
    """How many episodes have ended, and wait to be saved."""
    return sum(episode.has_ended for episode in spooled(root))


def remove_unended(root: Path, owner: int | None = None) -> None:
    """Remove what belongs to no episode that has ended, of one process or of all."""
    ended = {episode.name for episode in spooled(root) if episode.has_ended}
    for path in root.glob(f"{SPOOL}*" if owner is None else f"{SPOOL}{owner}-*"):
        if (found := NAME.match(path.name)) and found[0] not in ended:
            path.unlink(missing_ok=True)


def _ticks_in_file(size: int) -> int:
    return max(1, FILE_SIZE // size)


class SpoolWriter:
    """Appends ticks, episode by episode."""

    def __init__(self, root: Path, spec: SpoolSpec) -> None:
        self._spec, self._size = spec, spec.layout.size
        self._episode = SpooledEpisode(root, os.getpid(), 0)
        self._written = 0
        self._rows: int | None = None
        self._file: int | None = None

    def write(self, parts: Sequence[Buffer]) -> None:
        """Append a tick, whose first part is its numbers; when this returns, a reader can read it."""
        in_file = _ticks_in_file(self._size)
        if self._rows is None:
            self._episode.begin(self._spec)
            self._rows = _created(self._episode.rows_file)
        if self._file is None:
            self._file = _created(self._episode.ticks_file(self._written // in_file))
        _write_whole(self._rows, parts[:1])
        _write_whole(self._file, parts)
        self._written += 1
        if self._written % in_file == 0:
            os.close(self._file)
            self._file = None

    def end_episode(self) -> None:
        """The episode is whole."""
        if self._written:
            self._episode.end()
            self.next_episode()

    def next_episode(self) -> None:
        """What comes now belongs to another episode."""
        self.close()
        if self._written:
            self._episode = SpooledEpisode(self._episode.root, self._episode.owner, self._episode.number + 1)
            self._written = 0

    def close(self) -> None:
        """Close the current files."""
        for file in (self._rows, self._file):
            if file is not None:
                os.close(file)
        self._rows = self._file = None


def _created(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def _write_whole(file: int, parts: Sequence[Buffer]) -> None:
    left = [memoryview(part).cast("B") for part in parts]
    while left:  # a nearly full disk takes a part of it
        taken = os.writev(file, left)
        while left and taken >= len(left[0]):
            taken -= len(left.pop(0))
        if left and taken:
            left[0] = left[0][taken:]


class EpisodeReader:
    """Reads an episode's ticks in the order in which they were written, from one on."""

    def __init__(self, episode: SpooledEpisode, size: int, start: int = 0) -> None:
        self.episode, self._size = episode, size
        self._in_file = _ticks_in_file(size)
        self._read = start
        self._removed = 0
        self._file: IO[bytes] | None = None

    @property
    def is_at_cut(self) -> bool:
        """Whether it is time to settle what was read, so that its files can be removed."""
        return self._read % (self._in_file * -(-PIECE // self._in_file)) == 0

    def read(self) -> bytearray:
        """The next tick, which has been written."""
        path = self.episode.ticks_file(self._read // self._in_file)
        if self._file is None:
            self._file = path.open("rb", buffering=0)
            self._file.seek(self._read % self._in_file * self._size)
        content = bytearray(self._size)
        view, at = memoryview(content), 0
        while at < self._size:
            got = self._file.readinto(view[at:])  # type: ignore[attr-defined]
            if not got:
                raise OSError(f"{path} is shorter than it was")
            at += got
        self._read += 1
        if self._read % self._in_file == 0:
            self.close()
        return content

    def remove_before(self, tick: int) -> None:
        """Remove the files whose ticks are all before this one."""
        while self._removed < tick // self._in_file:
            self.episode.ticks_file(self._removed).unlink(missing_ok=True)
            self._removed += 1

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            self._file.close()
            self._file = None
