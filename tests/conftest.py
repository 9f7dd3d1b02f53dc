"""What all tests share: the toy benchmark, installed as a plugin for the session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of anything may take long here: machines are shared, and torch warms up.
settings.register_profile("yardarm", deadline=None)
settings.load_profile("yardarm")

# One thread, here and in the processes that tests start: threads that spin beside other tests only slow both down.
os.environ["OMP_NUM_THREADS"] = "1"

PLUGIN = Path(__file__).parent / "plugin"
SESSION = Path(tempfile.mkdtemp(prefix="yardarm-tests-"))


def pytest_configure() -> None:
    """Install the plugin package for this session only, where this process and its children find it."""
    source, target = SESSION / "source", SESSION / "site"
    shutil.copytree(PLUGIN, source)  # a build leaves files beside what it builds
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", target, source], check=True)
    sys.path.append(str(target))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH")]))


def pytest_unconfigure() -> None:
    shutil.rmtree(SESSION, ignore_errors=True)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without --output_dir land here."""
    monkeypatch.chdir(tmp_path)
