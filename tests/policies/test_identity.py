"""A run of version 0.1 resumes with the same policy: the ids that it recorded are the ids of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkpoints import POLICY_IDS, write_checkpoint
from tests.helpers import GOLDEN
from yardarm import load_policy
from yardarm.policies import PolicySpec, open_policy

SHIPPED = ("metaworld-smolvla", "mt10-act")


def test_every_recorded_checkpoint_has_an_id() -> None:
    recorded = {path.parent.relative_to(GOLDEN) for path in GOLDEN.rglob("config.json")}
    recorded = {str(path) for path in recorded if "hub" not in path.parts}
    assert set(POLICY_IDS) == {*SHIPPED, *recorded}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_policy_has_its_id(name: str) -> None:
    with open_policy(PolicySpec(name)) as loaded:
        assert loaded.id == POLICY_IDS[name]


# Those of `lerobot_variants` are checked where they are loaded anyway, in test_lerobot.py.
@pytest.mark.parametrize("name", ["act", "act_rollout", "act_temporal_ensemble", "diffusion", "pi0", "pi05", "smolvla"])
def test_a_golden_checkpoint_has_its_id(name: str, tmp_path: Path) -> None:
    hub_dir = GOLDEN / name / "hub" if (GOLDEN / name / "hub").exists() else None
    policy = load_policy(write_checkpoint(GOLDEN / name, tmp_path / name), device="cpu", hub_dir=hub_dir)
    assert policy.id == POLICY_IDS[name]
