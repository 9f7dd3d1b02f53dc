"""Weights & Biases, with its own package: what a run leaves there, and that it never costs an evaluation."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import wandb
import yaml

import yardarm as library
from tests.helpers import path_with, yardarm, yardarm_here
from tests.tracking.offline_run import OfflineRun
from yardarm.errors import SetupError, UsageError
from yardarm.results import RunFolder, RunResult, read_result
from yardarm.tracking import Tracker, WandbOptions, connection, open_tracker
from yardarm.tracking.content import MOST_EPISODES, episode_rows
from yardarm.tracking.package import can_be_reached, is_logged_in

KEY = "this-key-is-nobodys-business"
TOY = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=2", "--wandb.enable=true"]
KEYED_POLICY = """
from toy_world import MoverPolicy
class Keyed(MoverPolicy):
    def __init__(self, api_key=""):
        super().__init__()
"""
FEW_EPISODES, MORE_EPISODES = 3, 4


def eval_keyed(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Track a run whose policy has a key, in a home of its own."""
    return yardarm(
        *("eval", "--env.type=toy", "--policy.type=keyed:Keyed", f"--policy.api_key={KEY}", "--method=pushing"),
        *("--wandb.enable=true", "--wandb.mode=offline", f"--output_dir={place / 'run'}", *words),
        HOME=str(place / "home"),
        PYTHONPATH=path_with(place),
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was tracked twice: when it was made, and when episodes were added."""
    place = tmp_path_factory.mktemp("tracked")
    (place / "keyed.py").write_text(KEYED_POLICY)
    notes = ["--wandb.project=arms", "--wandb.notes=the first try", "--wandb.entity=team"]
    first = eval_keyed(place, f"--eval.n_episodes={FEW_EPISODES}", "--eval.videos=1", *notes)
    assert first.returncode == 0, first.stderr
    assert f"upload it with: wandb sync {place}/run/wandb/offline-run-" in first.stdout
    more = ["--wandb.disable_artifact=true", "--wandb.add_tags=false", "--job_name=more"]
    second = eval_keyed(place, f"--eval.n_episodes={MORE_EPISODES}", *more)
    assert second.returncode == 0, second.stderr
    return place


@pytest.fixture(scope="module")
def sessions(place: Path) -> list[OfflineRun]:
    return OfflineRun.all_of(place / "run")


@pytest.fixture
def package() -> Iterator[types.ModuleType]:
    """The package in this process, which leaves no process of its own behind."""
    yield wandb
    wandb.teardown()


def test_the_summary_has_every_rate_with_its_counts_and_interval(place: Path, sessions: list[OfflineRun]) -> None:
    summary, info = sessions[-1].summary, json.loads((place / "run" / "eval_info.json").read_text())
    assert summary["overall/planned_episodes"] == 2 * MORE_EPISODES
    assert summary["overall/confidence"] == 0.95
    left = next(task["metrics"] for task in info["per_task"] if task["task_name"] == "left")
    for name, own in {"overall": info["overall"], "group/left": info["per_group"]["left"], "task/left": left}.items():
        interval = own["success_interval"]
        assert summary[f"{name}/success_rate"] == own["n_successes"] / summary[f"{name}/episodes"]
        assert summary[f"{name}/interval_method"] == interval["method"] == "wilson"
        assert summary[f"{name}/interval_low"] == interval["low"]
        assert summary[f"{name}/interval_high"] == interval["high"]
        assert summary[f"{name}/successes"] == own["n_successes"]
        assert summary[f"{name}/errors"] == own["n_errors"] == 0
    assert summary["overall/episodes"] == info["overall"]["n_episodes"] == 2 * MORE_EPISODES


def test_tables_list_tasks_and_episodes(place: Path, sessions: list[OfflineRun]) -> None:
    result = read_result(RunFolder(place / "run")).result
    tasks, episodes = sessions[-1].table("tasks"), sessions[-1].table("episodes")
    assert [row["task"] for row in tasks] == ["left", "right"]
    assert [row["episodes"] for row in tasks] == [MORE_EPISODES, MORE_EPISODES]
    steps = [record.steps for record in result.tasks[0].episodes]
    assert tasks[0]["mean_steps"] == sum(steps) / len(steps)
    assert [
        (row["task"], row["index"], row["seed"], row["status"], row["steps"], row["return"]) for row in episodes
    ] == [
        (record.key.task, record.key.index, record.key.seed, record.status, record.steps, record.sum_reward)
        for record in result.episodes
    ]


def test_config_tags_and_notes_describe_the_run(place: Path, sessions: list[OfflineRun]) -> None:
    run, config = sessions[0].run, sessions[0].config
    assert (run.project, run.entity, run.notes, run.job_type) == ("arms", "team", "the first try", "eval")
    assert run.display_name == "run"
    assert config["env"]["task"] == "left,right"
    assert config["eval"]["n_episodes"] == FEW_EPISODES
    manifest = json.loads((place / "run" / "manifest.json").read_text())
    assert config["made_with"]["versions"] == manifest["sessions"][-1]["versions"]
    assert list(run.tags) == [f"policy:{manifest['plan']['policy']}", "env:toy", "method:pushing"]
    assert (sessions[1].run.display_name, list(sessions[1].run.tags)) == ("more", [])


def test_videos_that_were_made_are_logged(place: Path, sessions: list[OfflineRun]) -> None:
    for task in ("left", "right"):
        (video,) = sessions[0].summary[f"videos/{task}.videos"]
        assert video["caption"] == "episode 0, seed 1000: success"
        (made,) = (place / "run" / "videos" / "toy" / task).glob("*.mp4")
        assert sessions[0].media(video["path"]).read_bytes() == made.read_bytes()


def test_the_artifact_holds_the_runs_files(place: Path, sessions: list[OfflineRun]) -> None:
    files = sessions[0].artifacts["evaluation"]
    assert {"eval_info.json", "manifest.json", "config.yaml", "episodes.jsonl"} <= set(files)
    journal = (place / "run" / "episodes.jsonl").read_bytes()
    kept = files["episodes.jsonl"].read_bytes()
    assert kept.count(b"\n") == 2 * FEW_EPISODES
    assert journal.startswith(kept)
    assert json.loads(files["manifest.json"].read_text())["status"] == "finished"
    assert "evaluation" not in sessions[1].artifacts


def test_wandbs_files_lie_inside_the_run(place: Path, sessions: list[OfflineRun]) -> None:
    kept = [path for session in sessions for files in session.artifacts.values() for path in files.values()]
    assert kept
    assert all(path.is_relative_to(place / "run" / "wandb") for path in kept)


def test_keys_are_sent_nowhere(place: Path) -> None:
    files = [path for path in (place / "run").rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_continued_run_keeps_its_id(place: Path, sessions: list[OfflineRun]) -> None:
    first, second = sessions
    assert first.run.run_id == second.run.run_id
    assert json.loads((place / "run" / "manifest.json").read_text())["tracking"]["id"] == first.run.run_id
    assert first.history[0]["running/episodes"] == 1
    assert second.history[0]["running/episodes"] == 2 * FEW_EPISODES + 1
    assert [session.of_kind("exit")[-1].exit_code for session in sessions] == [0, 0]


def toy_run(**options: Any) -> RunResult:
    options = {"n_episodes": 2, "output_dir": "run", **options}
    return library.evaluate("toy-mover", ["left", "right"], benchmark="toy", **options)


def sessions_of(run: Path) -> list[OfflineRun]:
    """What wandb wrote of a run of this process: it is all on disk when wandb's own process has ended."""
    wandb.teardown()
    return OfflineRun.all_of(run)


def offline(**options: Any) -> WandbOptions:
    return WandbOptions(enable=True, mode="offline", **options)


@pytest.mark.usefixtures("package")
def test_a_finished_run_can_be_tracked_later_and_an_id_that_is_given_wins() -> None:
    toy_run()
    toy_run(wandb=offline(run_id="chosen"))
    (session,) = sessions_of(Path("run"))
    assert session.run.run_id == "chosen"
    assert session.summary["overall/episodes"] == 4
    assert json.loads(Path("run/manifest.json").read_text())["tracking"]["id"] == "chosen"


@pytest.mark.usefixtures("package")
def test_of_two_policies_the_first_is_tracked_with_what_stopped_them() -> None:
    result = toy_run(against="random", stop="decided", n_episodes=10, wandb=offline())
    (session,) = sessions_of(Path("run"))
    assert result.stopping is not None
    assert session.summary["stopping/decision"] == result.stopping.decision
    assert session.summary["overall/episodes"] == result.counts.episodes
    assert session.summary["overall/interval_method"] == "anytime"
    counted = [values["running/episodes"] for values in session.history if "running/episodes" in values]
    assert counted[-1] == len(Path("run/episodes.jsonl").read_text().splitlines())
    assert not Path("run/against/wandb").exists()
    assert yaml.safe_load(Path("run/against/config.yaml").read_text())["wandb"]["enable"] is False


def test_a_wandb_that_fails_halfway_costs_no_episode(
    package: types.ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("the line\nis cut")

    monkeypatch.setattr(package.Run, "log", fail)
    result = toy_run(wandb=offline())
    assert (result.counts.episodes, result.counts.errors) == (4, 0)
    assert json.loads(Path("run/manifest.json").read_text())["status"] == "finished"
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "could not log an episode (ConnectionError: the line is cut); the evaluation continues" in warning


def test_a_wandb_that_cannot_start_costs_no_episode(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: object) -> None:
        raise wandb.errors.CommError("over quota")

    monkeypatch.setattr(wandb, "init", fail)
    assert toy_run(wandb=offline()).counts.episodes == 4
    assert [record.getMessage() for record in caplog.records] == [
        "Weights & Biases could not be started (CommError: over quota); the evaluation continues"
    ]


@pytest.mark.usefixtures("package")
def test_without_a_network_a_run_is_tracked_offline(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setattr(connection, "can_be_reached", lambda _: False)
    toy_run(wandb=WandbOptions(enable=True, mode="online"))
    assert len(sessions_of(Path("run"))) == 1
    assert "cannot be reached; tracking offline" in caplog.text


@pytest.mark.usefixtures("package")
def test_an_open_run_of_a_training_script_is_left_alone(tmp_path: Path) -> None:
    quiet = wandb.Settings(silent=True, console="off")
    with wandb.init(project="training", dir=tmp_path, mode="offline", settings=quiet) as training:
        toy_run(wandb=offline())
        assert wandb.run is training
        training.log({"loss": 0.5})
    (own,) = sessions_of(tmp_path)
    assert [values["loss"] for values in own.history] == [0.5]
    assert "overall/episodes" not in own.summary


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        (
            "--wandb.mode=ofline",
            "--wandb.mode 'ofline' is unknown; did you mean 'offline'? use one of online, offline, disa",
        ),
        ("--wandb.project=a/b", "--wandb.project must have 1 to 128 characters, and none of / \\ # ? % :, got 'a/b'"),
        ("--wandb.run_id=", "--wandb.run_id must have 1 to 128 characters"),
        ("--wandb.tags=a", "unknown option '--wandb.tags'"),
        ("--wandb=true", "'wandb' must be a section of its own"),
    ],
)
def test_a_mistake_gets_one_clear_line(flag: str, message: str) -> None:
    answer = yardarm_here(*TOY, flag)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not Path("outputs").exists()


# A folder called wandb, as the package leaves them, can be imported where the package cannot.
@pytest.mark.parametrize("found", [None, types.ModuleType("wandb")], ids=["nothing", "a folder"])
def test_a_missing_package_is_told_before_anything_starts(
    found: types.ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", found)
    answer = yardarm_here(*TOY, "--wandb.mode=offline")
    assert answer.returncode == 2
    assert answer.stderr == (
        "yardarm: --wandb.enable=true needs the package wandb, which is not installed; "
        "run: pip install 'yardarm[wandb]'\n"
    )
    assert not Path("outputs").exists()


def test_a_package_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wandb, "__version__", "0.17.9")
    with pytest.raises(SetupError, match=r"needs wandb 0\.24 or newer, but 0\.17\.9 is installed"):
        open_tracker(offline())


@pytest.fixture
def _logged_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.mark.usefixtures("package", "_logged_out")
def test_nobody_logged_in_is_told_before_anything_starts() -> None:
    answer = yardarm_here(*TOY)
    assert answer.returncode == 2
    assert "not logged in to Weights & Biases; run `wandb login`" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not Path("outputs").exists()


@pytest.mark.usefixtures("package", "_logged_out")
def test_a_key_from_an_earlier_login_is_found(tmp_path: Path) -> None:
    assert not is_logged_in(wandb)
    (tmp_path / "netrc").write_text("machine api.wandb.ai\n  login user\n  password " + 40 * "0" + "\n")
    assert is_logged_in(wandb)


def test_a_server_that_takes_no_calls_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = types.SimpleNamespace(base_url=f"http://127.0.0.1:{server.getsockname()[1]}")
        package = types.SimpleNamespace(setup=lambda: types.SimpleNamespace(settings=settings))
        assert can_be_reached(package)
    assert not can_be_reached(package)


def test_the_mode_is_the_flags_or_else_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    assert WandbOptions().chosen_mode() == "online"
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert type(open_tracker(WandbOptions(enable=True))) is Tracker
    assert WandbOptions(mode="offline").chosen_mode() == "offline"
    monkeypatch.setenv("WANDB_MODE", "never")
    with pytest.raises(UsageError, match="WANDB_MODE 'never' is unknown"):
        WandbOptions().chosen_mode()


def test_a_table_of_episodes_has_an_end(place: Path) -> None:
    result = read_result(RunFolder(place / "run")).result
    task = result.tasks[0]
    record = task.episodes[0]
    many = tuple(replace(record, key=replace(record.key, index=index)) for index in range(MOST_EPISODES + 1))
    assert len(episode_rows(replace(result, tasks=(replace(task, episodes=many),))).rows) == MOST_EPISODES


def test_the_package_is_imported_only_when_it_is_used() -> None:
    code = (
        "import sys, yardarm, yardarm.api, yardarm.cli.commands.eval\n"
        "yardarm.evaluate('toy-mover', 'left', benchmark='toy', n_episodes=1, output_dir='run')\n"
        "print('wandb' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"
