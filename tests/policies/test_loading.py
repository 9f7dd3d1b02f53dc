from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from toy_world import MoverPolicy

from yardarm.errors import UsageError
from yardarm.policies import POLICIES, LoadedPolicy, Policy, PolicySpec, open_policy
from yardarm.policies.scripted import ZeroPolicy
from yardarm.registry import Registry
from yardarm.tasks import BENCHMARKS


def loaded(source: PolicySpec | Policy) -> LoadedPolicy:
    with open_policy(source) as policy:
        return policy


def test_a_policys_id_follows_its_source_and_its_options(tmp_path: Path) -> None:
    ids = {loaded(PolicySpec("toy-mover", options)).id for options in ({}, {"chunk": 3}, {"chunk": 4})}
    assert len(ids) == 3
    assert loaded(PolicySpec("toy-mover", {"chunk": 4})).id in ids


def test_an_object_that_was_made_already_is_taken() -> None:
    policy = MoverPolicy(chunk=2)
    assert loaded(policy).policy is policy


def test_objects_that_hold_different_things_have_different_ids() -> None:
    ids = [loaded(MoverPolicy(chunk)).id for chunk in (2, 3, 2)]
    assert ids[0] == ids[2] != ids[1]
    odd = MoverPolicy()
    odd.lock = threading.Lock()  # type: ignore[attr-defined]
    assert loaded(odd).id != loaded(odd).id, "what cannot be compared is never taken for the same"


def test_an_object_may_be_defined_at_a_prompt() -> None:
    namespace: dict[str, Any] = {"MoverPolicy": MoverPolicy}
    exec("class Prompted(MoverPolicy): pass", namespace)
    assert loaded(namespace["Prompted"]()).id.startswith("Prompted-")


def test_the_configuration_of_an_objects_run_does_not_make_another_policy() -> None:
    with pytest.raises(UsageError, match="was a Python object, MoverPolicy; give --policy"):
        loaded(loaded(MoverPolicy()).spec)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("wants = ['observation.state']", "`wants` must be an ObservationSpec"),
        ("wants = ObservationSpec(inputs=('observation.state'))", "is a comma missing?"),
        ("wants = ObservationSpec(steps=0)", "must be at least 1, got 0"),
        ("place = 'moon'", "has place 'moon'"),
        ("def __init__(self): raise OSError('no weights')", "cannot be made: OSError: no weights"),
        ("!", "cannot import 'sloppy:Sloppy': SyntaxError"),
    ],
)
def test_what_a_policy_lacks_is_named(body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sloppy.py").write_text(
        "from yardarm.policies import ObservationSpec\n"
        "class Base:\n    wants = ObservationSpec()\n    place = 'host'\n    start = infer = None\n"
        f"class Sloppy(Base):\n    {body}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sloppy", raising=False)
    with pytest.raises(UsageError, match=re.escape(message)):
        loaded(PolicySpec("sloppy:Sloppy"))


def test_an_object_for_workers_must_be_given_by_name() -> None:
    with pytest.raises(UsageError, match=r"give its name, 'yardarm\.policies\.scripted:ZeroPolicy'"):
        loaded(ZeroPolicy())


def test_a_missing_option_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy.py").write_text("class Needy:\n    def __init__(self, weights): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"policy 'needy:Needy' needs --policy\.weights=…"):
        loaded(PolicySpec("needy:Needy"))


def test_plugins_join_by_entry_point() -> None:
    assert "toy" in BENCHMARKS.names()
    assert POLICIES.load("toy-mover").__name__ == "MoverPolicy"


def test_a_name_is_registered_once() -> None:
    registry = Registry("robot", "yardarm.robots", {"arm": "json:loads"})
    with pytest.raises(UsageError, match="robot 'arm' is already registered, as json:loads"):
        registry.register("arm", "json:dumps")
    registry.register("leg", "json:dumps")
    assert registry.names() == ["arm", "leg"]
    assert registry.load("leg")([1]) == "[1]"
