"""Interpreters of worlds' own: virtual environments that ``yardarm setup`` makes in the user's data folder.

$YARDARM_HOME or $XDG_DATA_HOME/yardarm or ~/.local/share/yardarm
└── worlds/metaworld/
    ├── venv/          the world's packages and numpy; no torch, no Yardarm
    ├── setup.json     what it was made of; written last, so without it the environment is half made
    └── pip.log        what pip said
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
# What workers need beside their simulator.
FOR_WORKERS = ("numpy>=2,<3",)

Benchmark = BenchmarkConfig | type[BenchmarkConfig]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a world's environment was made of."""

    requirements: tuple[str, ...]
    made: str
    format: int = FORMAT

    @classmethod
    def read(cls, path: Path) -> Receipt | None:
        """The receipt in a file; none if there is none that this version understands."""
        try:
            content = json.loads(path.read_bytes())
            return cls(tuple(content["requirements"]), str(content["made"]), content["format"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, path: Path) -> None:
        """Keep it, as a whole."""
        write_json(path, asdict(self))


@dataclass(frozen=True, slots=True)
class WorldVenv:
    """The environment of one world, whether or not it has been made."""

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
        """The file that says that it is complete."""
        return self.folder / "setup.json"

    @property
    def log(self) -> Path:
        """What pip said."""
        return self.folder / "pip.log"

    def fault(self) -> str | None:
        """Why it cannot be used, in a few words; none if it can."""
        if not self.folder.exists():
            return "not set up"
        if not self.is_own():
            return f"{self.folder} belongs to another user"
        receipt = Receipt.read(self.receipt)
        if receipt is None:
            return "set up halfway"
        if receipt.format != FORMAT or receipt.requirements != self.requirements:
            return "set up for another version of Yardarm"
        if not os.access(self.python, os.X_OK):
            return f"set up with a Python that is gone: {self.python}"
        return None

    def is_own(self) -> bool:
        """Whether all that decides what runs belongs to this user, who then chose it: nobody else is trusted."""
        inside = (self.venv, self.python.parent, self.python, self.receipt)
        return all(
            path.lstat().st_uid == os.geteuid() for path in (self.folder, *inside) if path.is_symlink() or path.exists()
        )


def data_folder() -> Path:
    """Where Yardarm keeps what a user has set up."""
    if own := os.environ.get("YARDARM_HOME"):
        if not Path(own).is_absolute():
            raise UsageError(f"YARDARM_HOME must be an absolute path, got '{own}'")
        return Path(own)
    shared = Path(os.environ.get("XDG_DATA_HOME", ""))  # a relative one must be ignored, says its specification
    return (shared if shared.is_absolute() else Path.home() / ".local" / "share") / "yardarm"


def interpreter_for(benchmark: Benchmark) -> str:
    """The Python for a benchmark's workers, if it is another than this one.

    The one that the user names; else this one if it has the benchmark's packages; else the one that was set up.
    """
    if benchmark.python:
        return benchmark.python
    try:
        benchmark.check_requirements()
    except SetupError:
        own = WorldVenv.of(benchmark)
        return "" if own.fault() else str(own.python)
    return ""
