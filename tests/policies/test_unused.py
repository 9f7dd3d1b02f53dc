"""Tensors that files have and nothing reads: left where they are, and written again; every other one must fit."""

from __future__ import annotations

import dataclasses
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.policies.tiny import NAME, TINY, tiny
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies import PeftOptions
from yardarm.policies.adapters import add_adapter, merge_adapter
from yardarm.policies.checkpoint import files
from yardarm.policies.learned.policy import LearnedPolicy

WEIGHTS = "model.safetensors"
BALLAST = {
    "model.head.weight": torch.arange(6.0).reshape(2, 3).to(torch.bfloat16),
    "model.layers.3.mlp.weight": torch.ones(4),
}
# The last one has a place in the network, too, and is read.
BALLASTED = dataclasses.replace(TINY, unused=("model.head.*", "model.layers.*.mlp.weight", "model.body.*"))
TYPE = f"{NAME}:BALLASTED"
sys.modules[NAME].BALLASTED = BALLASTED  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny().save_pretrained(tmp_path / "source")
    rewrite(tmp_path / "source", **BALLAST)
    return tmp_path / "source"


def rewrite(folder: Path, **tensors: torch.Tensor) -> None:
    save_file({**load_file(folder / WEIGHTS), **tensors}, folder / WEIGHTS, metadata={"format": "pt"})


def load(folder: Path, **options: Any) -> LearnedPolicy:
    return load_policy(folder, type=TYPE, device="cpu", **options)


def test_they_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    class Watched:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.file = safe_open(*arguments, **options)

        def __enter__(self) -> Watched:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def keys(self) -> list[str]:
            return self.file.keys()

        def get_tensor(self, name: str) -> torch.Tensor:
            read.append(name)
            return self.file.get_tensor(name)

    monkeypatch.setattr(files, "safe_open", Watched)
    policy = load(folder)
    assert "model.words.weight" in read
    assert "model.body.1.weight" in read, "what the network has is read, whatever the patterns say"
    assert not set(read) & set(BALLAST)
    assert tuple(policy.unused.names) == tuple(BALLAST)


def test_they_are_written_again_bit_for_bit_wherever_the_policy_goes(folder: Path, tmp_path: Path) -> None:
    policy = load(folder)
    policy.save_pretrained(tmp_path / "second")
    policy.save_pretrained(folder)  # onto itself
    load(tmp_path / "second").save_pretrained(tmp_path / "third")
    before = (tmp_path / "second" / WEIGHTS).read_bytes()
    assert (tmp_path / "third" / WEIGHTS).read_bytes() == before == (folder / WEIGHTS).read_bytes()
    stored = load_file(tmp_path / "third" / WEIGHTS)
    for name, value in BALLAST.items():
        assert stored[name].dtype == value.dtype
        assert torch.equal(stored[name], value)


def test_they_change_neither_the_policy_nor_its_id(folder: Path) -> None:
    policy, plain = load(folder), tiny()
    assert policy.id == plain.id
    rewrite(folder, **{"model.head.weight": torch.zeros(5)})
    assert load(folder).id == plain.id
    assert np.array_equal(policy.predict(TINY.example(policy, 2)), plain.predict(TINY.example(plain, 2)))


def test_they_may_be_absent(folder: Path, tmp_path: Path) -> None:
    tiny().save_pretrained(tmp_path / "plain")
    policy = load(tmp_path / "plain")
    policy.save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (tmp_path / "plain" / WEIGHTS).read_bytes()


def test_a_source_that_has_gone_is_said_in_one_line(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = load(folder)
    (folder / WEIGHTS).unlink()
    with caplog.at_level(logging.WARNING):
        policy.save_pretrained(tmp_path / "second")
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"the checkpoint lacks 2 tensors that nothing reads: {folder / WEIGHTS} has gone or changed")
    assert "\n" not in said
    assert load(tmp_path / "second").id == policy.id


def test_any_other_tensor_must_fit(folder: Path) -> None:
    rewrite(folder, **{"model.layers.3.attention.weight": torch.ones(2)})
    with pytest.raises(UsageError, match=r"nothing there is called 'model.layers.3.attention.weight'$"):
        load(folder)
    tensors = load_file(folder / WEIGHTS)
    del tensors["model.layers.3.attention.weight"], tensors["model.body.1.bias"]
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(UsageError, match=r"it lacks 'model.body.1.bias'$"):
        load(folder)


def test_a_cut_file_is_refused_in_one_line(folder: Path) -> None:
    content = (folder / WEIGHTS).read_bytes()
    for kept in (len(content) - 3, 100, 5, 0):
        (folder / WEIGHTS).write_bytes(content[:kept])
        with pytest.raises(UsageError, match=f"{WEIGHTS} is damaged: ") as refusal:
            load(folder)
        assert "\n" not in str(refusal.value)


def test_a_released_policy_is_loaded_again_without_them(folder: Path) -> None:
    policy = load(folder)
    before = policy.predict(TINY.example(policy, 1))
    policy.release()
    assert np.array_equal(policy.predict(TINY.example(policy, 1)), before)


def test_an_adapter_that_is_merged_brings_its_bases_back(folder: Path, tmp_path: Path) -> None:
    policy = load(folder)
    add_adapter(policy, PeftOptions(r=2, target_modules="body.1"), str(folder))
    policy.save_pretrained(tmp_path / "adapter")
    loaded = load(tmp_path / "adapter")
    merge_adapter(loaded)
    loaded.save_pretrained(tmp_path / "merged")
    assert torch.equal(load_file(tmp_path / "merged" / WEIGHTS)["model.head.weight"], BALLAST["model.head.weight"])
