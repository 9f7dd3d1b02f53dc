"""The robot of the guide works as it stands there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import path_with
from tests.test_guides import files_of
from yardarm.errors import UsageError
from yardarm.robots import ROBOTS, make_robot
from yardarm.robots.motors import PERCENT, Motor
from yardarm.robots.so_arm import SoFollower
from yardarm.robots.twins import Twin

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-robot.md"


def test_a_robot_is_one_file_under_a_hundred_lines() -> None:
    files = files_of(GUIDE)
    assert set(files) == {"scara.py", "pyproject.toml", "test_scara.py"}
    assert len(files["scara.py"].splitlines()) < 100


def test_the_guides_robot_moves_on_its_twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    for name, text in files_of(GUIDE).items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(ROBOTS._paths, "scara", "scara:Scara")  # what its package does
    importlib.import_module("test_scara").test_it_goes_where_it_is_sent(tmp_path)


def test_an_unknown_model_in_a_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SoFollower, "motors", {"elbow": Motor(1, "sts3251", PERCENT)})
    for make in (lambda: make_robot("so101_follower", port="x"), lambda: Twin("so101_follower")):
        with pytest.raises(UsageError, match=r"unknown motor model 'sts3251'; did you mean 'sts32\d\d'\? known are"):
            make()


@pytest.mark.slow
def test_the_guides_package_adds_the_robot_to_all_commands(tmp_path: Path) -> None:
    source, site = tmp_path / "scara", tmp_path / "site"
    source.mkdir()
    for name, text in files_of(GUIDE).items():
        (source / name).write_text(text)
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", site, source], check=True)
    environment = {**os.environ, "PYTHONPATH": path_with(site), "HF_LEROBOT_CALIBRATION": str(tmp_path / "calibration")}
    words = [sys.executable, "-m", "yardarm", "twin", "--robot.type=scara", "--robot.id=desk", "--twin.calibrated=true"]
    twin = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    assert twin.stdout is not None
    try:
        flags = next(match[0] for line in twin.stdout if (match := re.search(r"--robot\.type=scara .*id=desk", line)))
        answer = subprocess.run(
            [sys.executable, "-m", "yardarm", "robot", "info", *flags.split()],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        twin.terminate()
        twin.wait(10)
        twin.stdout.close()
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert all(joint in answer.stdout for joint in ("shoulder", "elbow", "lift", "gripper"))
