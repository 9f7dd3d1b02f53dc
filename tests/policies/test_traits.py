"""What a policy says of itself: declared as `Traits`, or by plain attributes as in version 0.1, and read once."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from toy_world import MoverPolicy

import yardarm
from tests.checkpoints import small_act, small_diffusion
from yardarm.errors import UsageError
from yardarm.policies import LoadedPolicy, Outcome, Policy, Traits, open_policy
from yardarm.policies.scripted import ExpertPolicy, ZeroPolicy
from yardarm.tasks import TaskSpec


def traits_of(policy: Policy) -> Traits:
    with open_policy(policy) as loaded:
        return loaded.traits


class Declaring(MoverPolicy):
    traits = Traits(quick=True, action_size=1)


class Plain(MoverPolicy):
    """As docs/writing-a-policy.md had it in version 0.1."""

    quick = True
    action_size = 1
    own_time_limits = True
    scripted = True
    lanes = 3


def test_a_policy_that_says_nothing_has_the_defaults() -> None:
    assert traits_of(MoverPolicy()) == Traits()


def test_traits_are_declared() -> None:
    assert traits_of(Declaring()) == Traits(quick=True, action_size=1)


def test_plain_attributes_of_version_0_1_mean_the_same() -> None:
    expected = Traits(quick=True, action_size=1, own_time_limits=True, scripted=True, lanes=3)
    assert traits_of(Plain()) == expected


def test_a_plain_attribute_of_a_subclass_changes_what_its_base_declares() -> None:
    class Judged(ExpertPolicy):
        place = "host"
        scripted = False

    assert traits_of(Judged()) == Traits(needs_expert=True)


@pytest.mark.parametrize(
    ("traits", "message"),
    [({"quick": True}, r"`traits` of Wrong must be a Traits\(…\)"), (None, r"must be a Traits\(…\), not None")],
)
def test_traits_of_another_kind_are_refused(traits: Any, message: str) -> None:
    class Wrong(MoverPolicy):
        pass

    Wrong.traits = traits  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=message):
        traits_of(Wrong())
    with pytest.raises(UsageError, match="lanes must be at least 1, got 0"):
        Traits(lanes=0)


def test_what_prepare_changes_is_seen() -> None:
    class Learns(MoverPolicy):
        traits = Traits()

        def prepare(self, tasks: list[TaskSpec]) -> None:
            self.traits = Traits(action_size=7)

    assert traits_of(Learns()).action_size == 7


def test_optional_methods_are_found_once() -> None:
    class Full(MoverPolicy):
        def describe(self) -> dict[str, Any]:
            return {"colour": "red"}

        def finish(self, state: Any, outcome: Outcome | None) -> None:
            self.finished = outcome

    with open_policy(Full()) as loaded:
        assert loaded.describe()["colour"] == "red"
        assert loaded.hooks.finish is not None
        assert loaded.hooks.prepare is None
    with open_policy(MoverPolicy()) as bare:
        assert (bare.hooks.finish, bare.hooks.close) == (None, None)
        assert set(bare.describe()) == {"id", "type"}


def test_networks_that_differ_in_numbers_only_share_a_batching_key() -> None:
    keys = [traits_of(small_act(image=None, **options)).batching_key for options in ({}, {}, {"dim_model": 16})]
    assert keys[0] == keys[1] != keys[2]
    assert traits_of(small_diffusion(image=None)).batching_key not in (None, *keys)
    assert traits_of(small_act(image=None)).action_size == 4


def test_built_in_policies_need_no_looking_through() -> None:
    assert LoadedPolicy.prepared(ZeroPolicy(), None, ()).traits == Traits(scripted=True)  # type: ignore[arg-type]


def probes(path: Path) -> list[str]:
    """Calls that ask an object whether it has something."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    asked = [call for call in calls if ast.unparse(call.func) in ("hasattr", "getattr") and call.args]
    return [ast.unparse(call) for call in asked if "policy" in ast.unparse(call.args[0])]


def test_only_one_file_asks_a_policy_what_it_has() -> None:
    source = Path(yardarm.__file__).parent
    rooms = ("policies", "engine", "evaluation", "cluster", "serving", "training", "recording", "replay", "cli")
    found = {path: probes(path) for room in rooms for path in (source / room).rglob("*.py")}
    asking = {str(path.relative_to(source)) for path, calls in found.items() if calls}
    # The engine calls methods by name; loading checks that the protocol's four members are there; classes of LeRobot's
    # interface are known by their methods.
    foreign = {"policies/plain/adapting.py", "policies/plain/select_action.py"}
    assert asking == {"policies/traits.py", "policies/loading.py", "engine/inference.py", *foreign}
