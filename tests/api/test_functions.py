"""The API lists itself, explains itself, and answers mistakes in one line before anything slow starts."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import yardarm
from yardarm.api.functions import as_arguments
from yardarm.errors import UsageError

LATE = ("yardarm", "yardarm.config", "yardarm.datasets", "yardarm.displays", "yardarm.evaluation", "yardarm.training")


def test_dir_lists_the_api_and_imports_nothing() -> None:
    code = "import sys, yardarm; print(dir(yardarm)); print(sorted({'numpy', 'rich', 'torch'} & set(sys.modules)))"
    listed, imported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = ["compare", "evaluate", "evaluate_several", "load_policy", "make_env", "read_run", "record", "train"]
    assert listed == str(["__version__", *names])
    assert imported == "[]"


@pytest.mark.parametrize("package", LATE)
def test_dir_of_a_package_with_late_names_lists_its_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module) == sorted(module.__all__)


@pytest.mark.parametrize(
    ("function", "option", "default"),
    [("evaluate", "n_episodes", 50), ("record", "only_successes", False), ("train", "log_freq", 200)],
)
def test_help_lists_the_options_with_their_meaning(function: str, option: str, default: object) -> None:
    own = getattr(yardarm, function)
    assert inspect.signature(own).parameters[option].default == default
    assert f"- `{option}`: " in own.__doc__
    assert "--" not in own.__doc__.partition("Options:")[2], "these are arguments, not flags"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_episodes": "ten"}, "n_episodes must be a whole number, got 'ten'"),
        ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"resume": "yes"}, "resume must be true or false, got 'yes'"),
        ({"tasks": 3}, "tasks must be a task's name, a list of names, or a benchmark's configuration, got 3"),
        ({"tasks": ["reach-v3", 3]}, "tasks must be a task's name, a list of names"),
        ({"tasks": "reech-v3"}, "unknown task 'reech-v3'; did you mean 'reach-v3'?"),
        ({"output_dir": 5}, "output_dir must be a path, got 5"),
        ({"batch_size": True}, "batch_size must be a whole number, got True"),
        ({"confidence": 95}, "confidence must lie between 0.5 and 1, got 95"),
        ({"benchmark": 3}, "benchmark must be text, got 3"),
        ({"progress": "bar"}, "progress must be true or false, got 'bar'"),
        ({"policy": 3}, "int is no policy: give a name, a checkpoint, a function or a torch module"),
        ({"wandb": {"enable": True}}, "wandb must be WandbOptions, got {'enable': True}"),
        ({"n_episode": 3}, "evaluate has no option 'n_episode'; did you mean 'n_episodes'?"),
        ({"stop": "decided"}, "stop=decided needs an opponent: add against=RUN_OR_POLICY"),
    ],
)
def test_a_mistake_in_evaluate_is_one_line_about_the_argument(given: dict[str, Any], message: str) -> None:
    arguments = {"policy": "expert", "tasks": "reach-v3", **given}
    with pytest.raises(UsageError) as refused:
        yardarm.evaluate(**arguments)
    assert str(refused.value).startswith(message)
    assert not Path("outputs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"root": None}, "root=FOLDER is missing (or repo_id=owner/name)"),
        ({"root": 5}, "root must be a path, got 5"),
        ({"features": 3}, "features must be text, got 3"),
        ({"workers": "all"}, "workers must be a whole number, got 'all'"),
        ({"feature": "states"}, "record has no option 'feature'; did you mean 'features'?"),
    ],
)
def test_a_mistake_in_record_is_one_line_about_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        yardarm.record("expert", "reach-v3", **{"root": "data", **arguments})
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "atc"}, "policy.type=atc cannot be trained; did you mean 'act'?"),
        ({"policy": 3}, "policy must be text or a path or a mapping"),
        ({"dataset": 3}, "dataset must be text or a path or a mapping"),
        ({"steps": "many"}, "steps must be a whole number, got 'many'"),
        ({"step": 3}, "train has no option 'step'; did you mean 'steps'?"),
        ({"optimizer": {"lr": "x"}}, "optimizer.lr must be a number, got 'x'"),
        ({"optimizer": {"rate": 1}}, "optimizer has no option 'rate'"),
        ({"eval": {"n_episode": 1}}, "eval has no option 'n_episode'; did you mean 'n_episodes'?"),
        ({"eval": 3}, "eval must be a mapping"),
        ({"eval_freq": 5}, "eval_freq=5 needs to know where to evaluate: add tasks"),
        ({"peft": {"r": 3}}, "peft must be PeftOptions"),
        ({"resume": True}, "resume=True needs the training's folder: add output_dir=…"),
    ],
)
def test_a_mistake_in_train_is_one_line_about_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        yardarm.train(**{"policy": "act", "dataset": "nowhere", **arguments})
    assert str(refused.value).startswith(message)
    assert not Path("outputs").exists()


def test_a_mistake_shows_the_call_and_no_frames_below_it() -> None:
    with pytest.raises(UsageError) as refused:
        yardarm.evaluate("expert", "reach-v3", n_episodes="ten")
    files = [Path(frame.filename).name for frame in traceback.extract_tb(refused.value.__traceback__)]
    assert files == ["test_functions.py", "functions.py"]
    assert traceback.format_exception(refused.value)[-1].endswith(
        "UsageError: n_episodes must be a whole number, got 'ten'\n"
    )


def test_flags_are_called_as_arguments_but_commands_stay_commands() -> None:
    text = "--eval.stop needs --against; add --trust_remote_code=true, or see `yardarm eval --help`"
    assert as_arguments(text) == "stop needs against; add trust_remote_code=True, or see `yardarm eval --help`"


@pytest.mark.parametrize("confidence", [95, 0.3, "high", True])
def test_compare_refuses_a_confidence_that_is_none(confidence: Any) -> None:
    with pytest.raises(UsageError, match="confidence must be"):
        yardarm.compare("a", "b", confidence=confidence)


def test_compare_needs_two_runs() -> None:
    with pytest.raises(UsageError, match="each run must be a path, got 3"):
        yardarm.compare(3, 4)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="compare needs at least two runs"):
        yardarm.compare()
