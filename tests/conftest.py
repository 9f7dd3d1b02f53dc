"""What all tests share: the toy benchmark, installed as a plugin for the session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.fixture(scope="session", autouse=True)
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plugin package for this session only, where this process and its children find it."""
    target = tmp_path_factory.mktemp("plugin")
    source = tmp_path_factory.mktemp("source")
    for file in ("pyproject.toml", "toy_world.py"):
        (source / file).write_text((TESTS / "plugin" / file).read_text())
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", target, source], check=True)
    sys.path.append(str(target))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH")]))
    return target


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without --output_dir land here."""
    monkeypatch.chdir(tmp_path)
