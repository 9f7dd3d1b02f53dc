"""Pictures beside an evaluation: there for the report, and never in the way."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from toy_world import ToyConfig

import yardarm
from tests.helpers import courses, launchers, start_yardarm
from tests.pages.runs import SLOWLY, toy_run
from yardarm.errors import UsageError
from yardarm.evaluation import EvalOptions, EvaluationListener, pictures
from yardarm.evaluation.pictures import Pictures
from yardarm.policies import PolicySpec
from yardarm.results import RunFolder, read_result


def drawn(run: Path) -> list[str]:
    return sorted(f"{path.parent.name}/{path.stem}" for path in (run / "pictures").rglob("*.jpg"))


@pytest.fixture
def with_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every evaluation had taken long enough to spend all the seconds on pictures."""
    monkeypatch.setattr(pictures, "AFTERWARDS", 1e9)


@pytest.mark.usefixtures("with_patience")
def test_an_evaluation_leaves_pictures_of_its_first_failures_and_of_a_success(tmp_path: Path) -> None:
    result = toy_run(tmp_path / "run", pictures=60)
    failed = [record for record in result.episodes if not record.success]
    assert len(drawn(tmp_path / "run")) == 7
    assert {f"{record.key.task}/episode_{record.key.index:05d}" for record in failed} < set(drawn(tmp_path / "run"))
    assert (tmp_path / "run" / "report.html").read_text().count("data:image/jpeg;base64,") == 7


@pytest.mark.usefixtures("with_patience")
def test_both_of_two_policies_have_pictures(tmp_path: Path) -> None:
    toy_run(tmp_path / "run", n_episodes=1, pictures=60, against=PolicySpec(SLOWLY))
    assert drawn(tmp_path / "run") == drawn(tmp_path / "run" / "against") != []


@pytest.mark.usefixtures("with_patience")
def test_pictures_do_not_change_what_happens(tmp_path: Path) -> None:
    assert courses(toy_run(tmp_path / "with", pictures=60)) == courses(toy_run(tmp_path / "without", pictures=0))
    assert not drawn(tmp_path / "without")


@pytest.mark.usefixtures("with_patience")
def test_a_second_command_draws_only_what_is_missing(tmp_path: Path) -> None:
    toy_run(tmp_path / "run", pictures=60)
    kept, *lost = sorted((tmp_path / "run" / "pictures").rglob("*.jpg"))
    before = kept.stat().st_mtime_ns
    for path in lost:
        path.unlink()
    toy_run(tmp_path / "run", pictures=60)
    assert len(drawn(tmp_path / "run")) == 7
    assert kept.stat().st_mtime_ns == before


@pytest.mark.usefixtures("with_patience")
def test_the_time_of_an_evaluation_does_not_include_its_pictures(tmp_path: Path) -> None:
    result = toy_run(tmp_path / "run", pictures=60)
    assert result.wall_s == read_result(RunFolder(tmp_path / "run")).manifest.wall_s


def test_a_short_evaluation_is_not_prolonged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "AFTERWARDS", 0.001)
    toy_run(tmp_path / "run", pictures=60)
    assert not drawn(tmp_path / "run")


def test_somebody_who_watches_sees_pictures_of_a_short_evaluation_too(tmp_path: Path) -> None:
    class Watches(EvaluationListener):
        waits_for_pictures = True

    yardarm.evaluate("zero", ToyConfig(), n_episodes=1, pictures=60, output_dir=tmp_path / "run", listener=Watches())
    assert drawn(tmp_path / "run")


def test_a_picture_that_fails_is_told_and_breaks_nothing() -> None:
    told: list[str] = []

    class Listener(EvaluationListener):
        def not_drawn(self, reason: str) -> None:
            told.append(reason)

    def missing() -> list[pictures.LastPicture]:
        raise UsageError("nothing here can render")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "AFTERWARDS", 1e9)
        with Pictures(60.0, missing, 10.0, Listener()) as beside:
            beside.finish()
    assert told == ["nothing here can render"]


def test_a_long_evaluation_has_pictures_while_it_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MEANWHILE", 1e9)
    monkeypatch.setattr(pictures, "AFTERWARDS", 0.0)
    monkeypatch.setattr(pictures, "LOOK_EVERY_S", 0.01)
    world = ToyConfig(task="left", max_steps=10, step_s=0.1)
    yardarm.evaluate(SLOWLY, world, n_episodes=6, output_dir=tmp_path / "run", batch_size=1, pictures=60)
    assert "left/episode_00000" in drawn(tmp_path / "run")


def test_ctrl_c_skips_pictures_and_keeps_the_results(tmp_path: Path) -> None:
    run = tmp_path / "run"
    world = ["--env.type=toy", "--env.task=left,right", "--env.max_steps=10", "--env.step_s=0.4"]
    process = start_yardarm("eval", f"--policy.type={SLOWLY}", *world, "--eval.n_episodes=1", f"--output_dir={run}")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("drawing 2 pictures"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "stopped" in err) == (0, False), err
    assert "0/2" in out
    assert read_result(RunFolder(run)).is_finished
    assert (run / "report.html").exists()
    assert not drawn(run)


@pytest.mark.usefixtures("with_patience")
def test_an_evaluation_that_is_stopped_draws_nothing() -> None:
    asked: list[str] = []

    def missing() -> list[pictures.LastPicture]:
        asked.append("what is missing?")
        return []

    with pytest.raises(KeyboardInterrupt), Pictures(60.0, missing, 10.0, EvaluationListener()):
        raise KeyboardInterrupt
    assert not asked


def test_nothing_is_left_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "AFTERWARDS", 1e9)
    toy_run(tmp_path / "run", pictures=60)
    assert not launchers()


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_seconds_must_be_a_number(seconds: float) -> None:
    with pytest.raises(UsageError, match=r"--eval\.pictures must be a number of seconds"):
        EvalOptions(pictures=seconds)
