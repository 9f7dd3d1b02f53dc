from __future__ import annotations

from pathlib import Path

import pytest
from toy_world import MoverPolicy

from yardarm.errors import UsageError
from yardarm.policies import POLICIES, PolicySpec, load_policy
from yardarm.policies.scripted import ZeroPolicy
from yardarm.registry import Registry
from yardarm.tasks import BENCHMARKS


def test_a_policys_id_follows_its_source_and_its_options(tmp_path: Path) -> None:
    ids = {load_policy(PolicySpec("toy-mover", options)).id for options in ({}, {"chunk": 3}, {"chunk": 4})}
    assert len(ids) == 3
    assert load_policy(PolicySpec("toy-mover", {"chunk": 4})).id in ids


def test_an_object_that_was_made_already_is_taken() -> None:
    policy = MoverPolicy(chunk=2)
    assert load_policy(policy).policy is policy


def test_an_object_for_workers_must_be_given_by_name() -> None:
    with pytest.raises(UsageError, match=r"give its name, 'yardarm\.policies\.scripted:ZeroPolicy'"):
        load_policy(ZeroPolicy())


def test_a_missing_option_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy.py").write_text("class Needy:\n    def __init__(self, weights): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"policy 'needy:Needy' needs --policy\.weights=…"):
        load_policy(PolicySpec("needy:Needy"))


def test_plugins_join_by_entry_point() -> None:
    assert "toy" in BENCHMARKS.names()
    assert POLICIES.load("toy-mover").__name__ == "MoverPolicy"


def test_a_name_is_registered_once() -> None:
    registry = Registry("robot", "yardarm.robots", {"arm": "json:loads"})
    with pytest.raises(UsageError, match="robot 'arm' is registered already, as json:loads"):
        registry.register("arm", "json:dumps")
    registry.register("leg", "json:dumps")
    assert registry.names() == ["arm", "leg"]
    assert registry.load("leg")([1]) == "[1]"
