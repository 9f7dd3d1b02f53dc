"""A robot's dataset has the features that LeRobot derives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import GOLDEN
from yardarm.recording.robot import robot_dataset_info

ROBOTS: dict[str, Any] = json.loads((GOLDEN / "robots" / "features.json").read_text())["robots"]


class Recorded:
    """What LeRobot's robot says of itself."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.robot_type = said["name"]
        self.observation_features = plain(said["observation_features"])
        self.action_features = plain(said["action_features"])


def plain(features: dict[str, Any]) -> dict[str, Any]:
    return {name: float if kind == "float" else tuple(kind) for name, kind in features.items()}


@pytest.mark.parametrize("name", ROBOTS)
def test_the_features_are_lerobots(name: str) -> None:
    info = robot_dataset_info(Recorded(ROBOTS[name]), 30)
    assert {key: feature.to_json() for key, feature in info.features.items()} == ROBOTS[name]["dataset"]
    assert info.robot_type == ROBOTS[name]["name"]
