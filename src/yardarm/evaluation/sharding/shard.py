"""Parts of a plan, for jobs that know nothing about each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from yardarm.errors import UsageError

__all__ = ["Shard"]

FOLDER = re.compile(r"shard_(\d+)_of_(\d+)")
MOST_SHARDS = 100_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts of a plan, numbered from 1.

    All cells (a policy's tasks) lie side by side on a line, which is cut into `count` equal stretches. So a shard has
    neighbouring tasks, few of them, and a task that is cut is shared. Inside its cell, an episode's place is that of
    its index in van der Corput's sequence, which fills the cell evenly from the first episode on, and moves none when
    there are more.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_SHARDS:
            raise UsageError(f"--shard={self}: there can be 1 to {MOST_SHARDS:,} shards, not {self.count}")
        if not 1 <= self.number <= self.count:
            raise UsageError(
                f"--shard={self}: shards are numbered from 1 to {self.count}, so there is no {self.number}"
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``2/8``."""
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip(), re.ASCII)
        if match is None:
            raise UsageError(f"--shard={text} must be a number and a count, like --shard=2/8 for the second of eight")
        return cls(int(match[1]), int(match[2]))

    def has(self, cell: int, cells: int, index: int) -> bool:
        """Whether episode `index` of a cell is in this part; `cells` is how many cells there are."""
        above, below = van_der_corput(index)
        # In whole numbers: a place on a cut must not be rounded to the other side.
        return (cell * below + above) * self.count // (cells * below) == self.number - 1

    def folder_in(self, output_dir: Path) -> Path:
        """Where its results are, so that all jobs can be given the same folder; or that very folder, given again."""
        name = f"shard_{self.number:0{len(str(self.count))}d}_of_{self.count}"
        return output_dir if output_dir.name == name else output_dir / name


def van_der_corput(index: int) -> tuple[int, int]:
    """The binary digits of a number, mirrored at the point: 0, 1/2, 1/4, 3/4, 1/8, …, as a fraction."""
    above, below = 0, 1
    while index:
        above, below = 2 * above + index % 2, 2 * below
        index //= 2
    return above, below


def is_shard_folder(path: Path) -> bool:
    """Whether a folder has the name of a shard's."""
    return FOLDER.fullmatch(path.name) is not None


def absent_shards(folders: Iterable[Path]) -> tuple[str, ...]:
    """The shards that are not among these folders, if any folder is a shard's."""
    matches = [match for folder in folders if (match := FOLDER.fullmatch(folder.name))]
    return absent_of({Shard(int(match[1]), int(match[2])) for match in matches})


def absent_of(there: Collection[Shard]) -> tuple[str, ...]:
    """The shards that are missing beside those that are there."""
    every = [Shard(number, count) for count in sorted({own.count for own in there}) for number in range(1, count + 1)]
    return tuple(str(shard) for shard in every if shard not in there)
