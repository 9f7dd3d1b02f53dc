"""Policies are called what the user called them."""

from __future__ import annotations

from typing import Any

import pytest

from yardarm.results import CheckpointPlace, PlanRecord, PolicyLabel, PolicyRecord, RunManifest, SessionRecord


def label(**policy: Any) -> PolicyLabel:
    session = SessionRecord(policy=PolicyRecord.from_json({"id": "act-0123456789ab", **policy}))
    plan = PlanRecord(policy="act-0123456789ab", seed=1000, tasks=(), env=())
    return PolicyLabel.of(RunManifest(plan, 1, (), sessions=(session,)))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/me/outputs/train/push/checkpoints/last/pretrained_model", "push/last"),
        ("/home/me/outputs/train/push/checkpoints/020000/pretrained_model", "push/020000"),
        ("/home/me/outputs/train/push/snapshots/002000", "push/002000"),
        ("/home/me/act_v2/pretrained_model", "act_v2"),
        ("/home/me/act_v2", "act_v2"),
        ("lerobot/act_aloha", "lerobot/act_aloha"),
    ],
)
def test_a_checkpoint_is_called_by_its_path(path: str, name: str) -> None:
    assert label(type="pretrained", path=path).name == name
    assert label(type="pretrained", path=path).full == path


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        ({"type": "expert"}, "expert"),
        ({"type": "my_module:MyPolicy"}, "my_module:MyPolicy"),
        ({"type": "object:Mine"}, "Mine"),
        ({"type": "remote", "url": "ws://127.0.0.1:8000"}, "ws://127.0.0.1:8000"),
        ({"type": "pretrained"}, "act-0123456789ab"),
        ({}, "act-0123456789ab"),
    ],
)
def test_other_policies_are_called_by_their_type_or_address(policy: dict[str, str], name: str) -> None:
    assert label(**policy).name == name
    assert label(**policy).id == "act-0123456789ab"


def test_a_checkpoint_belongs_to_its_training() -> None:
    assert CheckpointPlace.of("/t/push/checkpoints/020000/pretrained_model") == CheckpointPlace("/t/push", "020000")
    assert CheckpointPlace.of("/t/push/elsewhere/020000") is None
    assert CheckpointPlace.of("lerobot/act") is None
