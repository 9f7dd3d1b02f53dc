"""A world that is not installed here gets an interpreter of its own, and is then used like any other."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from tests.envs.tiny import publish
from tests.helpers import descendants, start_yardarm, wait_until, yardarm, yardarm_here
from yardarm.envs import WorldVenv
from yardarm.tasks import BENCHMARKS, BenchmarkConfig

EVAL = ["eval", "--policy.type=random", "--env.type=tiny", "--eval.n_episodes=2", "--output_dir=run"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables under which the world is known."""
    return publish(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def ready(tiny: dict[str, str]) -> dict[str, str]:
    """The same, with the world set up."""
    answer = yardarm("setup", "tiny", **tiny)
    assert answer.returncode == 0, answer.stderr
    assert "tiny: installing tiny-physics==1.0, numpy>=2,<3\n" in answer.stdout
    assert answer.stdout.splitlines()[-1] == f"tiny: ready; --env.type=tiny uses {python(tiny)}"
    return tiny


@pytest.fixture
def nowhere(tiny: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The same, with a data folder in which nothing has been set up."""
    return {**tiny, "YARDARM_HOME": str(tmp_path / "home")}


@pytest.fixture
def silent_index(nowhere: dict[str, str]) -> Iterator[dict[str, str]]:
    """The same, with a package index that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        others = {name: value for name, value in nowhere.items() if name not in ("PIP_NO_INDEX", "PIP_FIND_LINKS")}
        yield {**os.environ, **others, "PIP_INDEX_URL": address, "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}


def folder(variables: dict[str, str]) -> Path:
    return Path(variables["YARDARM_HOME"]) / "worlds" / "tiny"


def python(variables: dict[str, str]) -> Path:
    return folder(variables) / "venv" / "bin" / "python"


def listed(command: str, variables: dict[str, str]) -> str:
    """What a command prints, however wide its columns are."""
    return re.sub(" +", " ", yardarm(command, **variables).stdout)


def test_a_world_that_is_not_set_up_says_how_to(nowhere: dict[str, str]) -> None:
    answer = yardarm(*EVAL, **nowhere)
    assert answer.returncode == 2
    advice = "run: yardarm setup tiny (or: pip install tiny-physics)"
    assert answer.stderr == f"yardarm: benchmark 'tiny' needs tiny-physics, which is not installed; {advice}\n"
    assert f"tiny not ready (not set up): {answer.stderr.removeprefix('yardarm: ')}" in listed("setup", nowhere)


def test_a_world_that_was_set_up_is_used_by_itself(ready: dict[str, str]) -> None:
    answer = yardarm(*EVAL, **ready)
    assert answer.returncode == 0, answer.stderr
    others = json.loads(Path("run/manifest.json").read_text())["sessions"][-1]["other_interpreters"]
    assert list(others) == [str(python(ready))]
    assert others[str(python(ready))]["torch"] is None
    # Another machine has another place for it, or the packages themselves.
    assert yaml.safe_load(Path("run/config.yaml").read_text())["env"].get("python", "") == ""
    replay = yardarm("replay", "run", "--task=left", **ready)
    assert replay.returncode == 0, replay.stderr


def test_what_is_set_up_is_listed(ready: dict[str, str]) -> None:
    found = listed("setup", ready)
    assert f"tiny ready, runs in {python(ready)}\n" in found
    assert "metaworld ready, runs in this interpreter\n" in found
    assert "so101_twin ready, runs in this interpreter\n" in found


@pytest.mark.slow
def test_info_shows_what_is_set_up(ready: dict[str, str]) -> None:
    assert f"tiny ready, runs in {python(ready)}\n" in listed("info", ready)


def test_setting_up_again_keeps_what_is_there(ready: dict[str, str]) -> None:
    before = python(ready).lstat().st_ino
    answer = yardarm("setup", "tiny", **{**ready, "PIP_FIND_LINKS": ""})
    assert answer.returncode == 0, answer.stderr
    assert "installing" not in answer.stdout
    assert python(ready).lstat().st_ino == before


def test_the_simulator_of_another_interpreter_is_for_workers(ready: dict[str, str]) -> None:
    answer = yardarm(*EVAL, "--eval.use_async_envs=false", **ready)
    assert answer.returncode == 2
    assert "'tiny' is set up in an interpreter of its own; omit the flag, or run: pip install" in answer.stderr


def test_an_environment_is_used_only_if_it_is_complete_current_and_ones_own(
    ready: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tiny(BenchmarkConfig):
        name = "tiny"
        requirements = ("tiny-physics==1.0",)

    class NewerTiny(Tiny):
        requirements = ("tiny-physics==2.0",)

    monkeypatch.setenv("YARDARM_HOME", ready["YARDARM_HOME"])
    own = WorldVenv.of(Tiny)
    assert own.fault() is None
    assert WorldVenv.of(NewerTiny).fault() == "set up for another version of Yardarm"
    aside = own.receipt.with_suffix(".aside")
    own.receipt.rename(aside)
    assert own.fault() == "set up incompletely"
    aside.rename(own.receipt)
    monkeypatch.setattr(os, "geteuid", lambda: own.folder.stat().st_uid + 1)
    assert own.fault() == f"{own.folder} belongs to another user"


@pytest.mark.slow
def test_packages_that_cannot_be_had_leave_nothing_behind(nowhere: dict[str, str], tmp_path: Path) -> None:
    answer = yardarm("setup", "tiny", **{**nowhere, "PIP_FIND_LINKS": str(tmp_path)})
    assert answer.returncode == 2
    assert answer.stderr.startswith("yardarm: No matching distribution found for tiny-physics==1.0; ")
    assert answer.stderr.count("\n") == 1
    assert [path.name for path in folder(nowhere).iterdir()] == ["pip.log"]


def test_ctrl_c_leaves_nothing_behind(silent_index: dict[str, str]) -> None:
    process = start_yardarm("setup", "tiny", env=silent_index)
    children = pips_that_wait(process.pid, silent_index)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert not python(silent_index).exists()
    assert not any(child.is_running() for child in children)


@pytest.mark.slow
def test_what_a_killed_setup_left_is_not_used_and_made_again(
    silent_index: dict[str, str], nowhere: dict[str, str]
) -> None:
    process = start_yardarm("setup", "tiny", env=silent_index)
    children = pips_that_wait(process.pid, silent_index)
    process.kill()
    process.communicate()
    busy = yardarm("setup", "tiny", **nowhere)
    assert busy.returncode == 2, "what was left of it may still be writing"
    assert "is being written by another process" in busy.stderr
    for child in children:
        child.kill()
    assert "tiny not ready (set up incompletely)" in listed("setup", nowhere)
    assert yardarm(*EVAL, **nowhere).returncode == 2
    assert yardarm("setup", "tiny", **nowhere).returncode == 0
    assert yardarm(*EVAL, **nowhere).returncode == 0


def pips_that_wait(pid: int, variables: dict[str, str]) -> list[psutil.Process]:
    """The processes that install, as soon as they have said all that they say before the index answers."""
    log = folder(variables) / "pip.log"
    wait_until(lambda: log.exists() and "Looking in indexes" in log.read_text())
    found = []
    for child in descendants(pid):
        with contextlib.suppress(psutil.Error):  # it has just ended
            found += [child] if "tiny-physics==1.0" in child.cmdline() else []
    return found


@pytest.mark.slow
def test_removing_takes_all_of_it(nowhere: dict[str, str]) -> None:
    assert yardarm("setup", "tiny", **nowhere).returncode == 0
    answer = yardarm("setup", "tiny", "--remove", **nowhere)
    assert answer.stdout == f"removed {folder(nowhere)}\n"
    assert not folder(nowhere).exists()
    assert yardarm(*EVAL, **nowhere).returncode == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["metawrld"], "unknown benchmark 'metawrld'; did you mean 'metaworld'?"),
        (["metaworld", "aloha"], "takes one benchmark, got metaworld aloha"),
        (["--remove"], "--remove needs a benchmark"),
        (["aloha", "--remove"], "'aloha' is not set up: there is no "),
        (["aloha", "--delete"], "unknown option '--delete'"),
    ],
)
def test_mistakes_are_named(words: list[str], message: str) -> None:
    answer = yardarm_here("setup", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_data_folder_must_not_depend_on_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARDARM_HOME", "here")
    assert "YARDARM_HOME must be an absolute path, got 'here'" in yardarm_here("setup", "aloha", "--remove").stderr
    monkeypatch.delenv("YARDARM_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert WorldVenv.of(BENCHMARKS.load("aloha")).folder == Path.home() / ".local/share/yardarm/worlds/aloha"
    monkeypatch.setenv("XDG_DATA_HOME", "/there")
    assert WorldVenv.of(BENCHMARKS.load("aloha")).folder == Path("/there/yardarm/worlds/aloha")
