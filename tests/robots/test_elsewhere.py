"""Robots of other packages: those for Yardarm are found, those for LeRobot are answered in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from yardarm.errors import UsageError
from yardarm.robots import CAMERAS, ROBOTS, TELEOPERATORS, make_robot, make_teleoperator
from yardarm.robots.so_arm import SoFollower

MINE = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from yardarm.robots.cameras.file import FileCamera, FileCameraConfig
from yardarm.robots.so_arm import SoFollower


class Mine(SoFollower):
    name = "mine"


@dataclass
class FilmConfig(FileCameraConfig):
    type: ClassVar[str] = "film"
    path: Path | None = Path("film.mp4")


class Film(FileCamera):
    config_class = FilmConfig
"""
SIZE = {"width": 640, "height": 480, "fps": 30}


def install(folder: Path, name: str, entry_points: str = "") -> None:
    """A package's metadata, as pip leaves it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for registry in (ROBOTS, TELEOPERATORS, CAMERAS):
        monkeypatch.setattr(registry, "_plugins", None)
    return tmp_path


def test_a_package_brings_a_robot_by_an_entry_point(packages: Path) -> None:
    (packages / "my_robots.py").write_text(MINE)
    install(
        packages, "my-robots", "[yardarm.robots]\nmine = my_robots:Mine\n[yardarm.cameras]\nfilm = my_robots:Film\n"
    )
    robot = make_robot("mine", port="/dev/none", cameras={"front": {"type": "film", **SIZE}})
    assert robot.name == "mine"
    assert isinstance(robot, SoFollower)
    assert str(robot.cameras["front"]) == "camera 'front' (film film.mp4)"


@pytest.mark.parametrize("name", ["lerobot_robot_ur5", "lerobot-robot-ur5"])
def test_a_package_for_lerobot_needs_lerobot(name: str, packages: Path) -> None:
    install(packages, name)
    with pytest.raises(UsageError) as error:
        make_robot("ur5")
    assert str(error.value) == (
        f"robot 'ur5' comes with {name}, which needs LeRobot; a package for Yardarm has an entry point yardarm.robots"
    )


def test_types_that_only_lerobot_has_are_known() -> None:
    with pytest.raises(UsageError, match="teleoperator 'phone' is not supported yet; LeRobot itself"):
        make_teleoperator("phone")


def test_a_package_for_lerobot_that_brings_a_camera_needs_lerobot(packages: Path) -> None:
    install(packages, "lerobot_camera_thermal")
    with pytest.raises(UsageError, match=r"camera 'thermal' comes with .* an entry point yardarm.cameras"):
        make_robot("so101_follower", port="x", cameras={"front": {"type": "thermal", **SIZE}})
