"""Other projects' packages, each in a virtual environment of its own, made once and kept between sessions."""

from __future__ import annotations

import contextlib
import fcntl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

# openpi-client asks for an older numpy than this Python's, and works with it.
OPENPI = (
    ["--no-deps", "openpi-client==0.1.2"],
    ["dm-tree", "msgpack", "numpy", "pillow", "typing_extensions", "websockets"],
)
VLA_EVAL = (["vla-eval==0.8.0"],)


@pytest.fixture(scope="session")
def openpi_python(pytestconfig: pytest.Config) -> str:
    return environment(pytestconfig, "openpi-client-0.1.2", OPENPI)


@pytest.fixture(scope="session")
def vla_eval_python(pytestconfig: pytest.Config) -> str:
    return environment(pytestconfig, "vla-eval-0.8.0", VLA_EVAL)


def environment(config: pytest.Config, name: str, installs: Sequence[Sequence[str]]) -> str:
    assert config.cache is not None
    folder = config.cache.mkdir("environments") / name
    python, complete = folder / "bin" / "python", folder / ".complete"
    with only_one(folder.parent / f"{name}.lock"):
        if not complete.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
            for packages in installs:
                pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *packages]
                subprocess.run(pip, check=True)
            complete.touch()
    return str(Path(python))


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Tests run in several processes: who comes second waits, and finds the work done."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
