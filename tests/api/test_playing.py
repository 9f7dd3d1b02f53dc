"""Evaluate, record and train from Python, on the toy world, as a user's script does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import yardarm
from tests.helpers import wait_until
from tests.training.made import META_WORLD_STATES, TINY_ACT, demonstrations
from yardarm.api import FinishedRecording
from yardarm.errors import UsageError
from yardarm.tasks.metaworld import MetaworldConfig
from yardarm.training import TrainingListener

TOY: dict[str, Any] = {"benchmark": "toy"}
QUICK = {"batch_size": 4, "log_freq": 2, "save_freq": 0, "threads": 1, "num_workers": 0}


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> FinishedRecording:
    folder = tmp_path_factory.mktemp("demos")
    return yardarm.record(
        "toy-mover", "left", root=folder / "data", output_dir=folder / "run", n_episodes=3, features="states", **TOY
    )


def test_an_evaluation_against_another_policy_prints_the_comparison_too(capsys: pytest.CaptureFixture[str]) -> None:
    run = yardarm.evaluate("toy-mover", ["left", "right"], n_episodes=3, against="zero", **TOY)
    assert capsys.readouterr() == ("", ""), "nobody looks, so nothing is shown"
    assert str(run).count("95% interval") == 4, "a table of the run, two of the comparison, and its verdict"
    assert run.comparison().pairs[0].pairs == 6
    assert len(run.to_pandas()) == 6


def test_several_policies_print_as_a_comparison() -> None:
    results = yardarm.evaluate_several(["toy-mover", "zero"], "left", n_episodes=3, **TOY)
    assert {"toy-mover", "zero"} <= set(str(results).split())
    assert "<table" in results._repr_html_()
    frame = results.to_pandas()
    assert list(frame.groupby("policy").size()) == [3, 3]
    assert str(yardarm.compare(results)) in str(results)
    assert "<table" in results.runs["zero"]._repr_html_()  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="holds the runs of several policies"):
        yardarm.read_run(results.path)


def test_progress_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    yardarm.evaluate("toy-mover", "left", n_episodes=3, progress=True, **TOY)
    shown = capsys.readouterr()
    assert shown.out == "", "what a program prints itself stays clean"
    assert "3/3 episodes" in shown.err


def test_a_recording_is_a_dataset_that_can_be_opened(demos: FinishedRecording) -> None:
    assert demos.dataset is not None
    assert str(demos).splitlines()[0].split() == ["dataset", "episodes", "frames", "tasks", "MB"]
    assert "<table" in demos._repr_html_()
    dataset = demos.open()
    assert len(dataset) == demos.dataset.frames
    assert dataset[0]["observation.state"].shape == (2,)
    assert len(demos.to_pandas()) == 3


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demonstrations(tmp_path_factory.mktemp("states") / "data", features=META_WORLD_STATES)


def test_a_trained_policy_can_be_evaluated_at_once(states: Path) -> None:
    training = yardarm.train(TINY_ACT, states, steps=4, output_dir="small", **QUICK)
    assert training.last_checkpoint == Path("small/checkpoints/000004")
    run = yardarm.evaluate(training.policy, MetaworldConfig(task="reach-v3", episode_length=10), n_episodes=2)
    assert run.counts.episodes == 2
    with pytest.raises(UsageError, match="output_dir=small exists already; resume it with resume=True"):
        yardarm.train(TINY_ACT, states, steps=4, output_dir="small", **QUICK)


@pytest.mark.slow
def test_a_policy_is_evaluated_while_it_trains(states: Path) -> None:
    world = MetaworldConfig(task="reach-v3", episode_length=10)
    training = yardarm.train(TINY_ACT, states, steps=4, tasks=world, eval={"n_episodes": 2}, eval_freq=4, **QUICK)
    assert [point["episodes"] for point in training.evaluations] == [2]
    assert "0/2" in str(training)


class StopAfterTwo(TrainingListener):
    """Interrupts a training."""

    step = 0

    def stepped(self, step: int) -> None:
        self.step = step

    def shall_stop(self) -> bool:
        return self.step >= 2


def test_an_interrupted_training_says_how_to_go_on_and_does(states: Path) -> None:
    call: dict[str, Any] = {"steps": 4, "output_dir": "cut", **QUICK}
    with pytest.raises(KeyboardInterrupt, match=r"step 2, which is saved; the same call with output_dir='cut'"):
        yardarm.train(TINY_ACT, states, listener=StopAfterTwo(), **call)
    with pytest.raises(UsageError, match="batch_size cannot change when a training is resumed: it was 4, and is now 8"):
        yardarm.train(TINY_ACT, states, resume=True, **{**call, "batch_size": 8})
    resumed = yardarm.train(TINY_ACT, states, resume=True, **call)
    whole = yardarm.train(TINY_ACT, states, **{**call, "output_dir": "whole"})
    weights = [(own.policy / "model.safetensors").read_bytes() for own in (resumed, whole)]
    assert weights[0] == weights[1]


def test_an_interrupted_evaluation_says_how_to_go_on_and_does() -> None:
    call = (
        "import yardarm\n"
        "from yardarm.tasks import BENCHMARKS\n"
        "toy = BENCHMARKS.load('toy')(task='far', step_s=0.02)\n"
        "run = yardarm.evaluate('zero', toy, n_episodes=20, batch_size=2, output_dir='run', resume={})\n"
        "print(len(run.episodes))"
    )
    first = subprocess.Popen([sys.executable, "-c", call.format(False)], stderr=subprocess.PIPE, text=True)
    journal = Path("run/episodes.jsonl")
    wait_until(lambda: journal.exists() and journal.stat().st_size > 0)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    last = said.strip().splitlines()[-1]
    assert last.startswith("KeyboardInterrupt: stopped; finished episodes are kept, and the same call with resume=True")
    kept = journal.read_text()
    answer = subprocess.run([sys.executable, "-c", call.format(True)], capture_output=True, text=True, timeout=60)
    assert answer.stdout.strip() == "20", answer.stderr
    assert journal.read_text().startswith(kept)
