"""What all tests share: the toy benchmark, installed as a plugin for the session."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from yardarm.machine import shared_kernels

# The first call of anything may take long here: machines are shared, and torch warms up.
settings.register_profile("yardarm", deadline=None)
settings.load_profile("yardarm")

# One thread, here and in the processes that tests start: threads that spin beside other tests only slow both down.
os.environ["OMP_NUM_THREADS"] = "1"

# Tests start hundreds of processes: each would compile the whole package again, for half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# As the command does it, and before numpy is imported: a simulator in this process computes as one in a worker.
os.environ.update(shared_kernels())

# A shell that starts this in the background has Ctrl-C ignored, by all that is started here, too; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

PLUGIN = Path(__file__).parent / "plugin"
FOLDER = pytest.StashKey[Path]()
SITE = "YARDARM_TESTS_SITE"


def pytest_configure(config: pytest.Config) -> None:
    """Install the plugin package for this session only, where this process and its children find it."""
    if not hasattr(config, "workerinput"):  # else pytest-xdist started this process, and it is installed
        config.stash[FOLDER] = folder = Path(tempfile.mkdtemp(prefix="yardarm-tests-"))
        os.environ[SITE] = str(_install_plugin(folder))
        os.environ["YARDARM_HOME"] = str(folder / "home")  # what the user has set up is not what is tested
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ[SITE], os.environ.get("PYTHONPATH")]))
    sys.path.append(os.environ[SITE])


def _install_plugin(folder: Path) -> Path:
    source, target = folder / "source", folder / "site"
    shutil.copytree(PLUGIN, source)  # a build leaves files beside what it builds
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", target, source], check=True)
    return target


def pytest_unconfigure(config: pytest.Config) -> None:
    if FOLDER in config.stash:
        shutil.rmtree(config.stash[FOLDER])


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two processes for the whole suite, as its tests start many of their own; a part starts sooner in this one."""
    return 2 if config.args == config.getini("testpaths") else 0


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without --output_dir land here."""
    monkeypatch.chdir(tmp_path)
