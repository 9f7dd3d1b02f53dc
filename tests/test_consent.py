"""Code runs that the user typed; code that only a file names, or that lies in the current folder, does not."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import yardarm as yardarm_package
from tests.checkpoints import small_act
from tests.helpers import path_with, yardarm, yardarm_here
from tests.viewer.served import ask, viewing
from yardarm.envs.interpreters import check_interpreter

MARK = "ran.txt"
# Says that it was imported, by whatever process.
TRAP = f"""
import os
with open(os.environ.get("MARK", {MARK!r}), "a") as file:
    file.write(__name__ + "\\n")
"""
TOY = {"type": "toy", "task": "left"}
ZERO = {"type": "zero"}
GYM = {"type": "gym", "task": "CartPole-v1"}


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a trap leaves its mark; the module `trap` can be imported by everybody, as one that is installed."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "trap.py").write_text(TRAP)
    monkeypatch.setenv("PYTHONPATH", path_with(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("MARK", str(tmp_path / MARK))
    return tmp_path / MARK


def interpreter(folder: Path) -> str:
    """A program that leaves the mark, too."""
    path = folder / "python"
    path.write_text('#!/bin/sh\necho python >> "$MARK"\n')
    path.chmod(0o755)
    return str(path)


# Every option that names code, and the configuration that a file would say it with.
NAMED: dict[str, Mapping[str, Any]] = {
    "env.package_name": {"env": {**GYM, "package_name": "trap"}, "policy": ZERO},
    "env.task of a module": {"env": {**GYM, "task": "trap:X-v0"}, "policy": ZERO},
    "env.task of a namespace": {"env": {**GYM, "task": "trap/X-v0"}, "policy": ZERO},
    "env.kwargs of an adapter": {
        "env": {**GYM, "task": "GymV21Environment-v0", "kwargs": {"env_id": "trap:X-v0"}},
        "policy": ZERO,
    },
    "env.python": {"env": {**TOY, "python": "PYTHON"}, "policy": ZERO},
    "env.python of one of a list": {"env": [TOY, {**TOY, "task": "right", "python": "PYTHON"}], "policy": ZERO},
    "env.path": {"env": {"type": "hub", "path": "FOLDER"}, "policy": ZERO},
    "policy.type": {"env": TOY, "policy": {"type": "trap:Policy"}},
    "policy.type of a checkpoint": {"env": TOY, "policy": {"path": "FOLDER", "type": "trap:ARCHITECTURE"}},
    "policy.python": {"env": TOY, "policy": {"path": "FOLDER", "python": "PYTHON"}},
    "policy of a list": {"env": TOY, "policy": ["zero", "trap:Policy"]},
    "policy.type of a list": {"env": TOY, "policy": [ZERO, {"type": "trap:Policy"}]},
    "against": {"env": TOY, "policy": ZERO, "against": "trap:Policy"},
    "against.type": {"env": TOY, "policy": ZERO, "against": {"type": "trap:Policy"}},
    "against.python": {"env": TOY, "policy": ZERO, "against": {"path": "FOLDER", "python": "PYTHON"}},
    "ray.address": {"env": TOY, "policy": ZERO, "runner": "ray", "ray": {"address": "127.0.0.1:1"}},
}
OF_ENVIRONMENTS = [name for name in NAMED if name.startswith("env.")]


def filled(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A configuration whose interpreter and folder are there, and leave marks."""
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "env.py").write_text(TRAP)
    text = json.dumps(data).replace("PYTHON", interpreter(folder)).replace("FOLDER", str(folder / "code"))
    return json.loads(text)


def refused(answer: Any, marked: Path) -> bool:
    lines = answer.stderr.strip().splitlines()
    return (
        answer.returncode == 2
        and len(lines) == 1
        and "this would run " in lines[0]
        and lines[0].endswith("if you trust it, add --trust_remote_code=true")
        and not marked.exists()
    )


@pytest.mark.parametrize("name", NAMED)
def test_a_configuration_file_runs_no_code_by_itself(name: str, marked: Path, tmp_path: Path) -> None:
    Path("config.yaml").write_text(yaml.safe_dump(filled(NAMED[name], tmp_path)))
    assert refused(yardarm_here("eval", "--config_path=config.yaml"), marked)


@pytest.mark.parametrize("name", ["env.package_name", "policy.type", "env.python"])
def test_consent_on_the_command_line_lets_it_run(name: str, marked: Path, tmp_path: Path) -> None:
    Path("config.yaml").write_text(yaml.safe_dump(filled(NAMED[name], tmp_path)))
    yardarm("eval", "--config_path=config.yaml", "--trust_remote_code=true", "--output_dir=run")
    assert marked.exists()


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("finished") / "run"
    words = ["--policy.type=zero", "--env.type=toy", "--env.task=left", "--eval.n_episodes=1"]
    assert yardarm("eval", *words, f"--output_dir={run}").returncode == 0
    return run


def tampered(run: Path, target: Path, env: Any) -> Path:
    """A run that looks like one of the given environment."""
    target.mkdir()
    for path in run.rglob("*"):
        if path.is_file():
            (target / path.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
            (target / path.relative_to(run)).write_bytes(path.read_bytes())
    config = yaml.safe_load((run / "config.yaml").read_text())
    (target / "config.yaml").write_text(yaml.safe_dump({**config, "env": env}))
    return target


@pytest.mark.parametrize("name", OF_ENVIRONMENTS)
def test_a_replay_runs_no_code_that_the_run_names(name: str, marked: Path, tmp_path: Path, finished_run: Path) -> None:
    run = tampered(finished_run, tmp_path / "run", filled(NAMED[name], tmp_path)["env"])
    assert refused(yardarm_here("replay", run, "--task=left"), marked)


def test_a_replay_does_not_ask_about_the_policy_which_it_does_not_run(finished_run: Path, tmp_path: Path) -> None:
    run = tampered(finished_run, tmp_path / "run", TOY)
    config = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump({**config, "policy": {"type": "trap:Policy"}}))
    assert yardarm("replay", run, "--task=left").returncode == 0


def test_the_viewer_never_runs_code_that_a_run_names(marked: Path, tmp_path: Path, finished_run: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for number, name in enumerate(OF_ENVIRONMENTS):
        tampered(finished_run, runs / str(number), filled(NAMED[name], tmp_path)["env"])
    with viewing(runs) as address:
        for number in range(len(OF_ENVIRONMENTS)):
            shown = {"run": str(number), "task": "left", "index": 0}
            status, episode = ask(address, "/api/episode", **shown)
            assert status == 200
            assert "The viewer never runs code from a run" in episode["no_rendering"]
            assert f"yardarm replay {runs / str(number)} --task=toy/left --episode=0" in episode["no_rendering"]
            assert ask(address, "/api/rendering", **shown)[0] == 404
    assert not marked.exists()
    answer = yardarm_here("view", runs, "--trust_remote_code=true", "--open=false")
    assert answer.returncode == 2


@pytest.mark.parametrize("name", ["env.package_name", "env.python"])
def test_a_training_asks_before_it_evaluates_in_what_a_file_names(name: str, marked: Path, tmp_path: Path) -> None:
    env = filled(NAMED[name], tmp_path)["env"]
    Path("train.json").write_text(json.dumps({"policy": {"type": "act"}, "dataset": {"root": "data"}, "env": env}))
    assert refused(yardarm_here("train", "--config_path=train.json"), marked)


def test_a_training_asks_before_it_trains_what_a_file_names(marked: Path) -> None:
    Path("train.json").write_text(json.dumps({"policy": {"type": "trap:ARCHITECTURE"}, "dataset": {"root": "data"}}))
    assert refused(yardarm_here("train", "--config_path=train.json"), marked)


@pytest.mark.parametrize("place", ["config.json", "policy_preprocessor.json"])
def test_a_checkpoint_never_runs_code_that_it_names(place: str, marked: Path) -> None:
    """Not even with consent, which is for what is typed: its type and its steps must be registered."""
    small_act(image=None).save_pretrained("checkpoint")
    file = Path("checkpoint", place)
    data = json.loads(file.read_text())
    if place == "config.json":
        data["type"] = "trap:ARCHITECTURE"
    else:
        data["steps"][0] = {"class": "trap.Step", "config": {}}
    file.write_text(json.dumps(data))
    words = ["--policy.path=checkpoint", "--env.type=toy", "--trust_remote_code=true"]
    answer = yardarm_here("eval", *words)
    assert answer.returncode == 2
    assert "trap" in answer.stderr
    assert not marked.exists()


def test_what_the_user_types_needs_no_consent(marked: Path) -> None:
    words = ["eval", "--env.type=gym", "--env.package_name=trap", "--env.task=None-v0", "--policy.type=zero"]
    answer = yardarm(*words)
    assert answer.returncode == 2
    assert "no environment 'None-v0' is registered" in answer.stderr
    assert marked.exists()


# Packages that libraries try to import, and do without.
MISSING = ("uvloop", "httptools", "charset_normalizer", "chardet", "cython", "sksparse", "cupy", "numba", "orjson")


def trapped(folder: Path) -> Path:
    for name in MISSING:
        (folder / f"{name}.py").write_text(TRAP)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["report", "RUN"],
        pytest.param(["compare", "RUN", "RUN2"], marks=pytest.mark.slow),
        pytest.param(["tasks", "toy"], marks=pytest.mark.slow),
        pytest.param(["plan", "--baseline=0.8", "--detect=0.1"], marks=pytest.mark.slow),
        pytest.param(["info"], marks=pytest.mark.slow),  # tries every world
        ["replay", "RUN", "--task=left"],
        ["dataset", "info", "nothing"],
        ["eval", "--policy.type=zero", "--env.type=toy", "--eval.n_episodes=1"],
    ],
    ids=lambda words: words[0],
)
def test_nothing_is_imported_from_the_current_folder(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished_run: Path
) -> None:
    downloaded = tmp_path / "downloaded"
    downloaded.mkdir()
    monkeypatch.chdir(trapped(downloaded))
    runs = {"RUN": str(finished_run), "RUN2": str(tampered(finished_run, tmp_path / "run", TOY))}
    yardarm(*(runs.get(word, word) for word in words))
    assert not (downloaded / MARK).exists()


def test_the_viewer_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished_run: Path
) -> None:
    run = tampered(finished_run, tmp_path / "run", TOY)
    monkeypatch.chdir(trapped(run))
    with viewing(Path(".")) as address:
        assert ask(address, "/api/runs")[0] == 200
    assert not (run / MARK).exists()


OWN = """
import numpy
import beside, library
from yardarm.policies.scripted import ZeroPolicy

class Own(ZeroPolicy):
    def start(self, episode):
        import later
        return super().start(episode)
"""


def test_a_typed_module_is_found_in_the_current_folder_with_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "library.py").write_text("try:\n    import accelerator\nexcept ImportError:\n    pass\n")
    monkeypatch.setenv("PYTHONPATH", path_with(tmp_path / "site"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "own.py").write_text(OWN)
    (folder / "beside.py").write_text("")
    (folder / "later.py").write_text("")
    (folder / "accelerator.py").write_text(TRAP)  # which the library tries, and nobody typed
    monkeypatch.chdir(folder)
    words = ["--env.type=toy", "--eval.n_episodes=2", "--output_dir=run"]
    answer = yardarm("eval", "--policy.type=own:Own", *words)
    assert answer.returncode == 0, answer.stderr
    assert not (folder / MARK).exists()
    again = yardarm("eval", "--config_path=run/config.yaml", "--trust_remote_code=true")
    assert again.returncode == 2
    assert "The current folder is only searched for modules that you type" in again.stderr


def test_an_installed_module_comes_before_one_of_the_current_folder(marked: Path) -> None:
    Path("trap.py").write_text("raise SystemExit('the wrong one')")
    answer = yardarm("eval", "--policy.type=trap:Policy", "--env.type=toy")
    assert "module 'trap' has no 'Policy'" in answer.stderr


def test_another_interpreter_is_checked_without_the_current_folder(tmp_path: Path) -> None:
    Path("numpy.py").write_text(TRAP)
    check_interpreter(sys.executable)
    assert not Path(MARK).exists()


# Every place that imports by name, loads a file of code, unpickles or starts a program, and why no file decides what.
DOORS = {
    "cli/displays/live_view.py": "this interpreter",
    "cli/groups.py": "tables of commands",
    "cli/main.py": "a table of commands",
    "envs/channel.py": "messages of our own workers, through a socket that has no name",
    "envs/interpreters.py": "env.python, which `admit` lets in",
    "envs/launcher.py": "modules of simulators, which tasks name",
    "envs/launching.py": "env.python, which `admit` lets in",
    "envs/rendering.py": "a table of MuJoCo's modules",
    "envs/setting_up.py": "venv and pip, for `yardarm setup`",
    "late.py": "tables of names",
    "policies/networks/backbone.py": "weights only",
    "policies/remote/server_process.py": "policy.python, which `admit` lets in",
    "recording/robot/encoder_process.py": "this interpreter",
    "registry.py": "registered names, and policy.type, which `admit` lets in",
    "results/provenance.py": "git",
    "results/stored.py": "yaml's safe loader",
    "robots/torque_watch.py": "this interpreter",
    "robots/twins/painter.py": "this interpreter",
    "simulators/folder.py": "env.path, which `select_tasks` lets in",
    "simulators/gym.py": "env.package_name and env.task, which `admit` lets in",
    "simulators/libero/package.py": "an installed package",
    "tracking/package.py": "wandb",
    "training/evaluations.py": "this interpreter",
}
OPENING = {
    *("__import__", "exec", "eval", "import_module", "spec_from_file_location", "run_path", "run_module"),
    *("Popen", "subprocess.run", "subprocess.check_output", "os.system", "execv", "execve", "posix_spawn"),
    *("pickle.load", "pickle.loads", "Unpickler", "torch.load", "yaml.load"),
}


def opens_a_door(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name in OPENING or (name.rpartition(".")[2] in OPENING - {"eval", "exec"})


def test_every_door_for_code_is_known() -> None:
    source = Path(yardarm_package.__file__).parent
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if any(isinstance(node, ast.Call) and opens_a_door(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found == set(DOORS)
