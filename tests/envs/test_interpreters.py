"""Workers of another interpreter, in which neither torch nor draccus is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import yardarm
from tests.helpers import courses
from tests.helpers import yardarm as command
from yardarm.envs import find_tasks, installed_for
from yardarm.errors import SetupError, UsageError
from yardarm.tasks import BENCHMARKS

ToyConfig = BENCHMARKS.load("toy")
MetaworldConfig = BENCHMARKS.load("metaworld")


def bare_environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A virtual environment with numpy and nothing else, not even Yardarm."""
    folder = tmp_path_factory.mktemp("second") / "venv"
    python = bare_environment(folder)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    here = Path(numpy.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):
        (packages / name).symlink_to(here / name)
    return str(python)


def test_the_second_environment_lacks_what_workers_do_not_need(second: str) -> None:
    found = installed_for(second)
    assert found["torch"] is found["draccus"] is found["mujoco"] is None
    assert found["yardarm"] == yardarm.__version__


def test_episodes_are_the_same_in_another_interpreter(second: str, tmp_path: Path) -> None:
    run = yardarm.evaluate("toy-mover", ToyConfig(python=second), n_episodes=3, output_dir=tmp_path / "second")
    own = yardarm.evaluate("toy-mover", ToyConfig(), n_episodes=3, output_dir=tmp_path / "own")
    assert courses(run) == courses(own)
    (session,) = json.loads((tmp_path / "second" / "manifest.json").read_text())["sessions"]
    assert session["other_interpreters"][second]["torch"] is None


def test_two_interpreters_in_one_evaluation(second: str, tmp_path: Path) -> None:
    envs = [ToyConfig(python=second, task="left"), MetaworldConfig(task="reach-v3", episode_length=5)]
    run = yardarm.evaluate("random", envs, n_episodes=2, output_dir=tmp_path / "run")
    assert [record.status for record in run.episodes] == ["failure"] * 4
    refused = command("replay", tmp_path / "run", "--task=left")
    assert refused.returncode == 2
    assert f"this would run the interpreter {second}" in refused.stderr
    answer = command("replay", tmp_path / "run", "--task=toy/left", "--trust_remote_code=true")
    assert answer.returncode == 0, answer.stderr


def test_the_interpreter_is_no_part_of_a_tasks_identity(second: str) -> None:
    (there,) = find_tasks(ToyConfig(python=second, task="left"))
    (here,) = find_tasks(ToyConfig(task="left"))
    assert there.key() == here.key()
    assert there.env.python == second


def test_what_is_missing_there_is_named(second: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"cannot import .* in a worker of .*: ModuleNotFoundError"):
        yardarm.evaluate("random", MetaworldConfig(task="reach-v3", python=second), n_episodes=1)
    naked = str(bare_environment(tmp_path / "naked"))
    with pytest.raises(SetupError, match="No module named 'numpy'; it needs numpy and the simulator"):
        yardarm.evaluate("random", ToyConfig(python=naked), n_episodes=1)


def test_what_is_no_interpreter_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^python=.*/nowhere cannot be run: No such file"):
        yardarm.evaluate("random", ToyConfig(python=str(tmp_path / "nowhere")), n_episodes=1)
    with pytest.raises(UsageError, match=r"^python=/bin/true is not a Python interpreter"):
        yardarm.evaluate("random", ToyConfig(python="/bin/true"), n_episodes=1)
    with pytest.raises(UsageError, match=r"^python is for workers"):
        yardarm.evaluate("random", ToyConfig(python=sys.executable), n_episodes=1, use_async_envs=False)
