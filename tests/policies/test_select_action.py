"""Policies for LeRobot's interface are taken as they are, and an episode stays a function of policy, task and seed."""

from __future__ import annotations

import logging
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from toy_world import ToyConfig

import yardarm
from yardarm.errors import PolicyFault, UsageError
from yardarm.policies import LoadedPolicy, Look, Policy, PolicySpec, Request, open_policy
from yardarm.serving.backend import PolicyBackend
from yardarm.tasks import EpisodeSpec

TASKS = ToyConfig().tasks()
LOOK = Look(0, {"observation.state": np.array([0.5, -1.0]), "observation.image": np.full((8, 9, 3), 51, np.uint8)})


class Mover:
    """Heads for the goal with noise from every global generator, and counts its steps."""

    def __init__(self) -> None:
        self.batches: list[dict[str, Any]] = []
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1
        self.steps = 0

    def select_action(self, batch: dict[str, Any]) -> Any:
        self.batches.append(batch)
        self.steps += 1
        state = batch["observation.state"]
        noise = torch.randn(1, 1) + np.random.normal() + random.gauss()
        return (torch.sign(state[:, 1:] - state[:, :1]) + 0.1 * noise + 0.01 * self.steps).clamp(-1, 1)


class DeclaringMover(Mover):
    config = SimpleNamespace(input_features={"observation.state": SimpleNamespace(shape=(2,))})


def loaded(policy: Any) -> LoadedPolicy:
    with open_policy(policy, TASKS) as opened:
        return opened


def play(policy: Policy, seed: int, steps: int) -> list[float]:
    """The actions of an episode in which nothing ever moves."""
    episode = EpisodeSpec(TASKS[0], 0, seed)
    state = policy.start(episode)
    return [float(policy.infer([Request(episode, state, [LOOK])])[0].actions[0, 0]) for _ in range(steps)]


def test_it_gets_a_batch_of_one_row_as_in_lerobot() -> None:
    mover = Mover()
    play(loaded(mover).policy, 1000, 1)
    batch = mover.batches[0]
    assert list(batch) == ["observation.state", "observation.image", "task"]
    assert batch["task"] == ["Go left"]
    assert torch.equal(batch["observation.state"], torch.tensor([[0.5, -1.0]]))
    assert batch["observation.image"].shape == (1, 3, 8, 9)
    assert torch.allclose(batch["observation.image"], torch.tensor(0.2))


def test_it_reads_what_it_declares_or_what_the_caller_says() -> None:
    assert loaded(Mover()).policy.wants.inputs == ("observation.state", "observation.image")
    declared = loaded(DeclaringMover()).policy.wants
    assert (declared.inputs, declared.shapes) == (("observation.state",), {"observation.state": (2,)})
    result = yardarm.evaluate(Mover(), ToyConfig(task="left"), inputs=["observation.state"], n_episodes=1)
    assert result.counts.episodes == 1


def test_it_is_reset_before_each_episode_and_asked_for_each_step() -> None:
    mover = DeclaringMover()
    result = yardarm.evaluate(mover, ToyConfig(task="left"), n_episodes=3, batch_size=4)
    assert mover.resets == 3
    assert len(mover.batches) == sum(record.steps for record in result.episodes)


def test_an_episode_does_not_depend_on_what_was_played_before(tmp_path: Path) -> None:
    every = yardarm.evaluate(DeclaringMover(), ToyConfig(), n_episodes=3, output_dir=tmp_path / "every")
    third = ToyConfig(task="right")
    (alone,) = yardarm.evaluate(DeclaringMover(), third, n_episodes=1, seed=1002, output_dir=tmp_path / "one").episodes
    assert alone.fingerprints in [record.fingerprints for record in every.episodes]


def test_it_leaves_everybody_elses_generators_alone() -> None:
    policy = loaded(Mover()).policy
    first = play(policy, 1000, 4)
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(7)
    expected = random.random(), np.random.rand(), float(torch.rand(()))
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(7)
    assert play(policy, 1000, 4) == first
    assert (random.random(), np.random.rand(), float(torch.rand(()))) == expected
    assert play(policy, 1001, 4) != first


@pytest.mark.parametrize(
    "answer", [torch.ones(1, 1), torch.ones(1), np.ones((1, 1)), np.ones(1), torch.ones(1, 1).double()]
)
def test_actions_may_be_tensors_or_arrays_with_or_without_a_row(answer: Any) -> None:
    class Steady(Mover):
        def select_action(self, batch: dict[str, Any]) -> Any:
            return answer

    assert play(loaded(Steady()).policy, 1000, 1) == [1.0]


@pytest.mark.parametrize("answer", [torch.ones(2, 1), {"action": 1}, torch.ones(1, 5, 1), [1.0]])
def test_an_answer_of_another_kind_is_refused(answer: Any) -> None:
    class Odd(Mover):
        def select_action(self, batch: dict[str, Any]) -> Any:
            return answer

    with pytest.raises(PolicyFault, match=r"Odd.select_action answered with .* it must be a tensor or an array"):
        play(loaded(Odd()).policy, 1000, 1)


def test_a_module_is_in_evaluation_mode_without_gradients_and_stays_as_it_was() -> None:
    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def reset(self) -> None:
            pass

        def select_action(self, batch: dict[str, Any]) -> Any:
            assert not self.training
            action = self.layer(batch["observation.state"])
            assert not action.requires_grad
            return action

    network = Network().train()
    opened = loaded(network)
    play(opened.policy, 1000, 2)
    assert network.training
    assert loaded(network).id == opened.id
    assert loaded(Network()).id != opened.id


def test_it_says_what_it_costs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        opened = loaded(Mover())
    assert "Mover has select_action: it plays one episode at a time, with an observation for every step" in caplog.text
    assert opened.traits.most_episodes == 1
    assert opened.describe()["one_episode_at_a_time"]


def test_two_episodes_at_once_are_refused() -> None:
    policy = loaded(Mover()).policy
    episodes = [EpisodeSpec(TASKS[0], index, 1000 + index) for index in range(2)]
    first, second = (Request(episode, policy.start(episode), [LOOK]) for episode in episodes)
    policy.infer([first])
    policy.infer([second])
    with pytest.raises(PolicyFault, match="Mover keeps one episode in itself"):
        policy.infer([first])


def test_it_is_named_by_its_own_source_and_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "movers.py").write_text(
        "class Mine:\n    def __init__(self, gain=1): self.gain = gain\n    def reset(self): pass\n"
        "    def select_action(self, batch): return batch['observation.state'][:, :1] * self.gain\n"
        "def load(gain): return Mine(gain)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "movers", raising=False)
    once, again, other = (loaded(PolicySpec("movers:Mine", {"gain": gain})).id for gain in (1, 1, 2))
    assert once.startswith("movers:Mine-")
    assert once == again != other
    assert play(loaded(PolicySpec("movers:load", {"gain": 2})).policy, 1000, 1) == [1.0]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(UsageError, match="has no select_action and no reset: a policy for LeRobot's interface needs"):
        loaded(SimpleNamespace(predict_action_chunk=print))
    with pytest.raises(UsageError, match="has no reset: a policy"):
        yardarm.evaluate(SimpleNamespace(select_action=print), "reach-v3")


def test_another_shape_than_declared_is_refused_before_anything_starts() -> None:
    class Longer(Mover):
        config = SimpleNamespace(input_features={"observation.state": SimpleNamespace(shape=(7,))})

    with pytest.raises(UsageError, match=r"observation\.state"):
        yardarm.evaluate(Longer(), ToyConfig(), n_episodes=1)


def test_it_is_not_served_to_several_clients() -> None:
    with pytest.raises(UsageError, match=r"Mover plays 1 episode\(s\) at a time, but a server may have any number"):
        PolicyBackend(loaded(Mover()), TASKS[0])
