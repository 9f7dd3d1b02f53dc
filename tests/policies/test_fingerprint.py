"""A policy that answers otherwise than when it was saved is refused."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import small_act
from tests.policies.tiny import NAME, TINY, tiny
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies.learned import fingerprint
from yardarm.policies.learned.fingerprint import FINGERPRINT, Fingerprint
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learning import load_to_fine_tune

MARKED = dataclasses.replace(TINY, fingerprinted=True)
TYPE = f"{NAME}:MARKED"
VERSIONLESS = json.dumps(
    {**dataclasses.asdict(Fingerprint((1.0,), 1.0, 1, "cpu", "float32", {})), "format": 1, "versions": None}
)
sys.modules[NAME].MARKED = MARKED  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny(MARKED).save_pretrained(tmp_path / "marked")
    return tmp_path / "marked"


def load(folder: Path, **options: Any) -> LearnedPolicy:
    return load_policy(folder, type=TYPE, **{"device": "cpu", **options})


def disturb(folder: Path, by: float) -> None:
    """Multiply a layer, and leave the fingerprint as it is."""
    weights = load_file(folder / "model.safetensors")
    weights["model.body.1.weight"] *= 1 + by
    save_file(weights, folder / "model.safetensors")


def test_the_answer_is_kept_in_full_precision(folder: Path) -> None:
    policy = load(folder)
    answer = policy.predict(MARKED.example(policy, 1)).ravel()
    stored = Fingerprint.from_json((folder / FINGERPRINT).read_bytes())
    assert np.array_equal(np.float32(stored.values), answer[: fingerprint.SHOWN])
    assert stored.norm == pytest.approx(float(np.linalg.norm(answer)), rel=1e-6)
    assert (stored.device, stored.dtype, stored.count) == ("cpu", "float32", answer.size)
    assert stored.versions["torch"] == torch.__version__
    assert Fingerprint.from_json(stored.to_json()) == stored


def test_other_answers_are_refused_with_the_versions_that_changed(folder: Path) -> None:
    disturb(folder, 1e-4)
    load(folder)  # as another machine might round
    data = json.loads((folder / FINGERPRINT).read_text())
    data["versions"]["transformers"] = "4.0.1"
    (folder / FINGERPRINT).write_text(json.dumps(data))
    load(folder)  # another version alone is no harm
    disturb(folder, 0.5)
    complaint = (
        rf"the policy gives other answers than when {folder / FINGERPRINT} was saved: they differ by [\d.]+% of their "
        r"size; transformers 4\.0\.1 then, .* now; --policy\.self_test=false loads it all the same$"
    )
    with pytest.raises(UsageError, match=complaint):
        load(folder)
    with pytest.raises(UsageError, match="the policy gives other answers"):
        load_to_fine_tune(str(folder), type=TYPE, device="cpu")
    assert load(folder, self_test=False)
    assert load_to_fine_tune(str(folder), type=TYPE, device="cpu", self_test=False)


def test_what_cannot_be_compared_is_not(folder: Path) -> None:
    disturb(folder, 0.5)
    assert load(folder, dtype="bfloat16")
    assert load(folder, use_amp=True), "another option may change the answer"


def test_saving_again_keeps_the_new_answer(folder: Path, tmp_path: Path) -> None:
    disturb(folder, 0.5)
    load(folder, self_test=False).save_pretrained(tmp_path / "second")
    load(tmp_path / "second")


def test_saving_in_the_middle_of_a_training_leaves_every_part_in_its_mode(tmp_path: Path) -> None:
    policy = tiny(MARKED)
    policy.network.train()
    policy.network.words.eval()  # frozen
    state = torch.random.get_rng_state()
    policy.save_pretrained(tmp_path)
    assert (policy.network.training, policy.network.words.training, policy.network.body.training) == (True, False, True)
    assert torch.equal(torch.random.get_rng_state(), state)
    load(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1}', '{"format": 7}', VERSIONLESS])
def test_a_damaged_fingerprint_is_refused_in_one_line(content: str, folder: Path) -> None:
    (folder / FINGERPRINT).write_text(content)
    with pytest.raises(UsageError, match=f"{FINGERPRINT} is damaged: .*; delete it to load") as refusal:
        load(folder)
    assert "\n" not in str(refusal.value)


def test_a_checkpoint_without_one_is_loaded(folder: Path) -> None:
    (folder / FINGERPRINT).unlink()
    assert load(folder)


def test_only_architectures_that_ask_for_it_have_one(tmp_path: Path) -> None:
    small_act(image=None).save_pretrained(tmp_path)
    assert not (tmp_path / FINGERPRINT).exists()


def test_the_switch_is_a_switch(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"--policy.self_test must be true or false, not maybe"):
        load(folder, self_test="maybe")


def test_actions_far_from_zero_hide_nothing(folder: Path) -> None:
    """Degrees and positions do: a network that answers at random moves them by less than a percent."""
    (path,) = folder.glob("policy_postprocessor_step_*.safetensors")
    statistics = load_file(path)
    save_file({**statistics, "action.mean": statistics["action.mean"] + 1000}, path)
    load(folder)
    disturb(folder, 0.5)
    with pytest.raises(UsageError, match="the policy gives other answers"):
        load(folder)
