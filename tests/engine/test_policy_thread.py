"""Policies that hang: somebody hears of it, the run ends at its time limit, and nothing that was finished is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from toy_world import MoverPolicy, ToyConfig

from tests.helpers import courses, launchers
from yardarm.api import evaluate
from yardarm.engine.policy_thread import Calls, PolicyThread, TimeLimit
from yardarm.errors import PolicyFault
from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener, evaluate_several
from yardarm.policies import ActionChunk, Request
from yardarm.results import read_journal

LIMIT_S = 1.0
released = threading.Event()


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind() -> Iterator[None]:
    released.clear()
    yield
    released.set()


class Hangs(MoverPolicy):
    """Hangs in one of its methods, in its third episode."""

    id = "sleepy"

    def __init__(self, method: str, quick: bool = False) -> None:
        super().__init__()
        self.method, self.quick = method, quick

    def start(self, episode: Any) -> Any:
        self.hang_in("start", episode.index)
        return super().start(episode)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        for request in requests:
            self.hang_in("infer", request.episode.index)
        return super().infer(requests)

    def finish(self, state: Any, outcome: Any) -> None:
        if self.method == "finish" and outcome is not None:
            released.wait(60)

    def hang_in(self, method: str, index: int) -> None:
        if self.method == method and index == 2:
            released.wait(60)


class Heard(EvaluationListener):
    def __init__(self) -> None:
        self.slow: list[tuple[str, float, float]] = []

    def computing(self, policy: str, seconds: float, limit_s: float) -> None:
        self.slow.append((policy, seconds, limit_s))


@pytest.mark.parametrize(("method", "quick"), [("infer", False), ("infer", True), ("start", False), ("finish", False)])
def test_a_policy_that_hangs_ends_the_run_at_its_time_limit(method: str, quick: bool, tmp_path: Path) -> None:
    heard, started = Heard(), time.monotonic()
    with pytest.raises(PolicyFault, match=rf"the policy sleepy hangs: `{method}` has not answered for 1 s") as caught:
        evaluate(
            Hangs(method, quick),
            ToyConfig(task="left"),
            n_episodes=4,
            batch_size=1,
            timeout_s=LIMIT_S,
            output_dir=tmp_path / "run",
            listener=heard,
        )
    assert time.monotonic() - started < 30
    assert "released.wait(60)" in caught.value.trace
    assert "yardarm/evaluation" not in caught.value.trace, "frames of ours"
    assert "released.wait(60)" in (tmp_path / "run" / "policy_error.txt").read_text()
    assert {(policy, limit) for policy, _, limit in heard.slow} == {("sleepy", LIMIT_S)}
    finished = list(read_journal(tmp_path / "run" / "episodes.jsonl"))
    assert len(finished) == (1 if method == "finish" else 2)
    assert not launchers(), "workers are left over"


def test_a_policy_that_nobody_looked_at_until_its_limit_is_reported_before_it_is_given_up() -> None:
    calls: Calls = SimpleQueue()
    thread, heard = PolicyThread(calls), Heard()

    def compute(own: PolicyThread) -> None:
        with own.computing():
            released.wait(60)

    calls.put(compute)
    while thread.seconds < 0.02:
        time.sleep(0.005)
    with pytest.raises(PolicyFault, match="hangs"):
        TimeLimit("sleepy", 0.01, heard.computing).look_at(thread, "infer")
    assert [policy for policy, _, _ in heard.slow] == ["sleepy"]
    calls.put(None)


def test_of_several_policies_one_that_hangs_holds_up_nobody(tmp_path: Path) -> None:
    env = ToyConfig(task="left")
    options = EvalOptions(n_episodes=4, batch_size=2, timeout_s=LIMIT_S)
    results = evaluate_several(EvalConfig(env, [Hangs("infer"), MoverPolicy()], options, output_dir=tmp_path / "all"))
    (fault,) = results.faults.values()
    assert "the policy sleepy hangs" in fault
    (other,) = [run for name, run in results.runs.items() if name not in results.faults]
    assert courses(other) == courses(evaluate(MoverPolicy(), env, n_episodes=4))


def test_a_policy_that_sees_to_its_own_time_limits_may_take_longer(tmp_path: Path) -> None:
    class Patient(MoverPolicy):
        own_time_limits = True

        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            time.sleep(1.5)
            return [ActionChunk(np.zeros((20, 1))) for _ in requests]

    run = evaluate(Patient(), ToyConfig(task="left"), n_episodes=1, timeout_s=LIMIT_S, output_dir=tmp_path / "run")
    assert [record.attempts for record in run.episodes] == [1]


def test_a_policy_that_raises_at_the_end_of_an_episode_loses_none(tmp_path: Path) -> None:
    class Forgetful(MoverPolicy):
        def finish(self, state: Any, outcome: Any) -> None:
            raise KeyError("which episode?")

    with pytest.raises(PolicyFault, match=r"the policy raised KeyError: 'which episode\?' \(in `finish`\)"):
        evaluate(Forgetful(), ToyConfig(task="left"), n_episodes=4, batch_size=1, output_dir=tmp_path / "run")
    assert len(list(read_journal(tmp_path / "run" / "episodes.jsonl"))) == 1
