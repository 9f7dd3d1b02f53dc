"""The virtual environments that ``yardarm setup`` creates, one per world, in the user's data folder.

$YARDARM_HOME or $XDG_DATA_HOME/yardarm or ~/.local/share/yardarm
└── worlds/metaworld/
    ├── venv/          the world's packages and numpy; no torch, no Yardarm
    ├── setup.json     its requirements; written last, so without it the environment is incomplete
    └── pip.log        pip's output
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from yardarm.errors import SetupError, UsageError
from yardarm.files import write_json
from yardarm.tasks import BenchmarkConfig

__all__ = ["Benchmark", "Receipt", "WorldVenv", "data_folder", "interpreter_for"]

FORMAT = 1
# What workers need in addition to their simulator.
FOR_WORKERS = ("numpy>=2,<3",)

Benchmark = BenchmarkConfig | type[BenchmarkConfig]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was installed into a world's environment, and when."""

    requirements: tuple[str, ...]
    made: str
    format: int = FORMAT

    @classmethod
    def read(cls, path: Path) -> Receipt | None:
        """Read a receipt; None if the file is missing or cannot be understood."""
        try:
            content = json.loads(path.read_bytes())
            return cls(tuple(content["requirements"]), str(content["made"]), content["format"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, path: Path) -> None:
        """Write it atomically."""
        write_json(path, asdict(self))


@dataclass(frozen=True, slots=True)
class WorldVenv:
    """The environment of one world, whether or not it exists yet."""

    folder: Path
    requirements: tuple[str, ...]

    @classmethod
    def of(cls, benchmark: Benchmark) -> WorldVenv:
        """Where a benchmark's environment is, or would be."""
        return cls(
            data_folder() / "worlds" / benchmark.name, tuple(dict.fromkeys(benchmark.requirements + FOR_WORKERS))
        )

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.folder / "venv"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.venv / "bin" / "python"

    @property
    def receipt(self) -> Path:
        """The file that marks it as complete."""
        return self.folder / "setup.json"

    @property
    def log(self) -> Path:
        """Pip's output."""
        return self.folder / "pip.log"

    def fault(self) -> str | None:
        """Why it cannot be used, in a few words; None if it can."""
        if not self.folder.exists():
            return "not set up"
        if not self.is_own():
            return f"{self.folder} belongs to another user"
        receipt = Receipt.read(self.receipt)
        if receipt is None:
            return "set up incompletely"
        if receipt.format != FORMAT or receipt.requirements != self.requirements:
            return "set up for another version of Yardarm"
        if not os.access(self.python, os.X_OK):
            return f"set up with a Python that no longer exists: {self.python}"
        return None

    def is_own(self) -> bool:
        """Whether everything that decides what runs belongs to this user; nobody else is trusted."""
        inside = (self.venv, self.python.parent, self.python, self.receipt)
        return all(
            path.lstat().st_uid == os.geteuid() for path in (self.folder, *inside) if path.is_symlink() or path.exists()
        )


def data_folder() -> Path:
    """Where Yardarm stores what a user has set up."""
    if own := os.environ.get("YARDARM_HOME"):
        if not Path(own).is_absolute():
            raise UsageError(f"YARDARM_HOME must be an absolute path, got '{own}'")
        return Path(own)
    shared = Path(os.environ.get("XDG_DATA_HOME", ""))  # its specification says to ignore a relative path
    return (shared if shared.is_absolute() else Path.home() / ".local" / "share") / "yardarm"


def interpreter_for(benchmark: Benchmark) -> str:
    """The Python for a benchmark's workers; "" is this one.

    It is the one that the user names; otherwise this one, if it has the packages; otherwise the one that was set up.
    """
    if benchmark.python:
        return benchmark.python
    try:
        benchmark.check_requirements()
    except SetupError:
        own = WorldVenv.of(benchmark)
        return "" if own.fault() else str(own.python)
    return ""
