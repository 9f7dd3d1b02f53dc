"""Workers that are killed, hang or raise: the run goes on, and its counts are right."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from toy_world import ToyConfig

from tests.helpers import assert_all_gone, courses, descendants, launchers, start_yardarm, wait_until, workers
from yardarm.api import evaluate
from yardarm.errors import PolicyFault
from yardarm.evaluation import EvaluationListener
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.results import EpisodeRecord, RunResult, read_journal


def toy_run(folder: Path, policy: Any = "toy-mover", **options: Any) -> RunResult:
    names = {"task", "fault", "fault_at", "fault_times", "step_s", "max_steps"}
    flags = {name: options.pop(name) for name in names & set(options)}
    config = ToyConfig(scratch=str(folder.parent), **flags)
    options = {"n_episodes": 3, "batch_size": 2, "timeout_s": 60, **options}
    return evaluate(policy, config, output_dir=folder, **options)


@pytest.mark.parametrize("policy", ["toy-mover", "random"])
@pytest.mark.parametrize("fault", ["kill", "raise", "hang", "exit", "stray"])
def test_a_failed_worker_is_replaced_and_its_episode_run_again(fault: str, policy: str, tmp_path: Path) -> None:
    timeout_s = 5 if fault == "hang" else 60
    run = toy_run(tmp_path / "run", policy, fault=fault, fault_at=1, timeout_s=timeout_s)
    assert run.counts.episodes == 6
    assert run.counts.errors == 0
    assert {record.attempts for record in run.episodes if record.key.index == 1} == {2}
    assert {record.attempts for record in run.episodes if record.key.index != 1} == {1}


@pytest.mark.parametrize(
    ("fault", "trace"),
    [
        ("kill", "ended unexpectedly: SIGKILL (it was killed, perhaps because memory ran out)"),
        ("exit", "ended unexpectedly: exit code 7"),
        ("raise", "the toy is broken"),
        ("stray", "something in it, perhaps a native library, wrote into its connection"),
    ],
)
def test_an_episode_that_keeps_failing_is_an_error_with_its_reason(fault: str, trace: str, tmp_path: Path) -> None:
    run = toy_run(tmp_path / "run", task="left", fault=fault, fault_times=99, max_retries=1)
    (error,) = [record for record in run.episodes if record.status == "error"]
    assert error.key.index == 0
    assert error.attempts == 2
    assert trace in (error.error or "")
    assert (run.counts.episodes, run.counts.errors) == (2, 1)


def test_an_error_is_tried_again_when_the_run_is_resumed(tmp_path: Path) -> None:
    assert toy_run(tmp_path / "run", fault="raise", fault_times=1, max_retries=0).counts.errors == 2
    resumed = toy_run(tmp_path / "run", fault="raise", fault_times=1, max_retries=0)
    assert resumed.counts.errors == 0
    assert resumed.counts.episodes == 6


def test_workers_killed_from_outside_lose_no_episode(tmp_path: Path) -> None:
    undisturbed = courses(toy_run(tmp_path / "undisturbed", "random", step_s=0.02, n_episodes=4))
    killed = []

    def kill_a_worker_now_and_then() -> None:
        for _ in range(3):
            wait_until(lambda: len(workers()) > 0)
            victim = workers()[0]
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)
            psutil.wait_procs([victim], timeout=5)

    thread = threading.Thread(target=kill_a_worker_now_and_then)
    thread.start()
    run = toy_run(tmp_path / "run", "random", step_s=0.02, n_episodes=4, max_retries=5)
    thread.join()
    assert len(killed) == 3
    assert courses(run) == undisturbed


def test_a_killed_launcher_is_replaced(tmp_path: Path) -> None:
    class KillTheLauncherOnce(EvaluationListener):
        killed = False

        def finished(self, record: EpisodeRecord) -> None:
            if not self.killed:
                self.killed = True
                os.kill(launchers()[0].pid, signal.SIGKILL)

    listener = KillTheLauncherOnce()
    run = toy_run(tmp_path / "run", "random", step_s=0.002, listener=listener, max_retries=5)
    assert listener.killed
    assert (run.counts.episodes, run.counts.errors) == (6, 0)


def test_what_a_simulator_prints_does_not_fill_the_disk(tmp_path: Path) -> None:
    run = toy_run(tmp_path / "run", fault="chatter", fault_times=99, task="left", n_episodes=2)
    assert run.counts.episodes == 2
    log = (tmp_path / "run" / "workers.log").read_bytes()
    assert len(log) < 11_000_000
    assert b"bytes are left out here" in log
    assert log.endswith(b"x\n")


def daemons(folder: Path) -> list[psutil.Process]:
    return [psutil.Process(int(path.name.partition("-")[2])) for path in folder.glob("daemon-*")]


def test_a_daemon_of_a_simulator_ends_with_its_worker(tmp_path: Path) -> None:
    found: list[psutil.Process] = []

    class Look(EvaluationListener):
        def finished(self, record: EpisodeRecord) -> None:
            if record.key.index == 0 and record.key.task == "left":
                found.extend(daemons(tmp_path))

    # A worker lives for one task: when the second has begun, the first one's is gone.
    run = toy_run(tmp_path / "run", "random", fault="daemon", batch_size=1, step_s=0.01, listener=Look())
    assert run.counts.errors == 0
    assert len(found) == 1, "it lived as long as its worker"
    assert_all_gone(found, timeout=0)
    numbers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("daemon-*")]
    assert len(numbers) == 2
    assert not any(psutil.pid_exists(number) for number in numbers), "when the run is over, so are they"


def test_a_daemon_of_a_simulator_ends_with_a_killed_run(tmp_path: Path) -> None:
    process = start_yardarm(
        "eval", "--env.type=toy", "--policy.type=random", "--env.fault=daemon", "--env.step_s=0.5",
        f"--env.scratch={tmp_path}", "--eval.batch_size=1", f"--output_dir={tmp_path / 'run'}",
    )  # fmt: skip
    wait_until(lambda: len(list(tmp_path.glob("daemon-*"))) > 0)
    left = [*daemons(tmp_path), *descendants(process.pid)]
    process.kill()
    process.communicate()
    assert_all_gone(left)


class BadPolicy:
    wants = ObservationSpec(inputs=("observation.state",))
    place = "host"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def start(self, episode: Any) -> None:
        pass

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return [self.answer for _ in requests]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ValueError("weights are missing"), "weights are missing"),
        (ActionChunk(np.full((2, 1), np.nan)), "NaN or infinite actions for 'left'"),
        (None, "answered with NoneType for 'left' instead of an ActionChunk"),
        (ActionChunk([[1], [1, 2]]), "are no array of numbers"),  # type: ignore[arg-type]
        (ActionChunk(np.full((2, 1), 1 + 2j)), "for 'left' are no array of real numbers: their dtype is complex128"),
        (ActionChunk(np.array([["0.5"]])), "their dtype is <U3"),
        (ActionChunk(np.array([[0.5]], dtype=object)), "their dtype is object"),
        (ActionChunk(np.full((2, 1), 1e300)), "NaN or infinite actions for 'left'"),
        (ActionChunk(np.zeros((2, 1)), {"observation.state": 2}), "looks are no offsets by input"),  # type: ignore[dict-item]
        (ActionChunk(np.zeros((2, 1)), ["observation.state"]), "looks are no offsets by input"),  # type: ignore[arg-type]
        (SystemExit(3), "SystemExit: 3"),
        (ActionChunk(np.zeros((2, 7))), r"actions of shape \(2, 7\) for 'left'; it must be \(how many ≥ 1, 1\)"),
        (ActionChunk(np.zeros((0, 1))), "actions of shape"),
        (ActionChunk(np.zeros((2, 1)), {"observation.state": [3]}), "offsets"),
        (ActionChunk(np.zeros((2, 1)), {"observation.image": [2]}), "which its `wants` does not name"),
        (ActionChunk(np.zeros((2, 1)), {"observation.state": [1, 2]}), "`wants.steps` is 1"),
    ],
)
def test_a_policy_that_cannot_be_played_stops_the_run_with_a_clear_message(
    answer: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(PolicyFault, match=message):
        toy_run(tmp_path / "run", BadPolicy(answer), task="left")
    assert not launchers(), "workers are left over"


class ForgetsToReturn(BadPolicy):
    def infer(self, requests: Sequence[Request]) -> Any:
        pass


class ForgetsOne(BadPolicy):
    def infer(self, requests: Sequence[Request]) -> Any:
        yield from ()


@pytest.mark.parametrize(
    ("policy", "message"),
    [(ForgetsToReturn(None), "object is not iterable"), (ForgetsOne(None), "answered 1 requests with 0 chunks")],
)
@pytest.mark.parametrize("quick", [True, False])
def test_a_policy_that_does_not_answer_ends_the_run(policy: Any, message: str, quick: bool, tmp_path: Path) -> None:
    policy.quick = quick
    with pytest.raises(PolicyFault, match=message):
        toy_run(tmp_path / "run", policy, task="left", batch_size=1)


def test_a_policy_that_raises_in_a_worker_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worker_policies.py").write_text(
        "from yardarm.policies import ObservationSpec\n"
        "class Broken:\n"
        "    wants = ObservationSpec()\n"
        "    place = 'worker'\n"
        "    def start(self, episode): return 1 / 0\n"
        "    def infer(self, requests): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PolicyFault, match="division by zero"):
        toy_run(tmp_path / "run", "worker_policies:Broken")


def test_a_short_time_limit_does_not_kill_healthy_episodes(tmp_path: Path) -> None:
    run = toy_run(tmp_path / "run", "toy_world:SlowlyPolicy", task="far", step_s=0.2, timeout_s=2.0, n_episodes=1)
    assert [(record.status, record.attempts) for record in run.episodes] == [("failure", 1)]


def test_what_was_finished_before_a_policy_failed_is_kept(tmp_path: Path) -> None:
    class FailsLater(BadPolicy):
        calls = 0

        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            self.calls += 1
            if self.calls > 12:
                raise RuntimeError("out of memory")
            return [ActionChunk(np.zeros((5, 1))) for _ in requests]

    with pytest.raises(PolicyFault, match="out of memory"):
        toy_run(tmp_path / "run", FailsLater(None), task="left", n_episodes=20, batch_size=1)
    assert len(list(read_journal(tmp_path / "run" / "episodes.jsonl"))) == 3
