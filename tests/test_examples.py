"""What the documentation shows, runs."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import path_with, yardarm, yardarm_here
from yardarm.cli.commands.dataset import COMMANDS as DATASET_COMMANDS
from yardarm.cli.commands.robot import COMMANDS as ROBOT_COMMANDS
from yardarm.cli.commands.runs import COMMANDS as RUNS_COMMANDS
from yardarm.cli.lerobot.operations import OPERATIONS
from yardarm.cli.lerobot.spellings import RENAMED
from yardarm.policies.act import ActConfig
from yardarm.policies.diffusion import DiffusionConfig
from yardarm.policies.pi0 import Pi0Config
from yardarm.policies.pi05 import Pi05Config
from yardarm.policies.smolvla import SmolVlaConfig

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGES = [ROOT / "README.md", ROOT / "recipes" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.slow
def test_the_example_policy_runs_as_its_docstring_says() -> None:
    words = ["eval", "--policy.type=my_policy:HoverPolicy", "--policy.height=0.2", "--env.type=metaworld"]
    answer = yardarm(*words, "--env.task=reach-v3", "--eval.n_episodes=2", PYTHONPATH=path_with(EXAMPLES))
    assert answer.returncode == 0, answer.stderr
    mistaken = yardarm(*words, "--policy.hight=1", PYTHONPATH=path_with(EXAMPLES))
    assert "has no option 'hight'; did you mean 'height'?" in mistaken.stderr


def test_the_policy_for_lerobots_interface_runs_as_its_docstring_says() -> None:
    words = ["eval", "--policy=select_action_policy:HoverPolicy", "--policy.height=0.2", "--env=metaworld"]
    short = ["--env.task=reach-v3", "--env.episode_length=30", "--eval.n_episodes=2"]
    answer = yardarm(*words, *short, PYTHONPATH=path_with(EXAMPLES))
    assert answer.returncode == 0, answer.stderr
    assert "HoverPolicy has select_action: it plays one episode at a time" in answer.stderr
    assert "2/2 episodes" in answer.stdout


@pytest.mark.slow
@pytest.mark.parametrize("disturbance", [("--policy.noise=3",), ("--policy.noise=0", "--policy.drift=3")])
def test_a_noisy_expert_is_worse_than_the_expert(disturbance: tuple[str, ...]) -> None:
    words = [*disturbance, "--against=expert", "--env.type=metaworld", "--env.task=reach-v3,button-press-v3"]
    words += ["--eval.stop=decided", "--eval.n_episodes=6", "--env.episode_length=100"]
    answer = yardarm("eval", "--policy.type=noisy_expert:NoisyExpert", *words, PYTHONPATH=str(EXAMPLES))
    assert answer.returncode == 0, answer.stderr
    assert "Decided: B is better than A" in answer.stdout


def test_a_script_needs_no_main_guard() -> None:
    script = EXAMPLES / "evaluate_from_python.py"
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert "expert on push-v3: 5/5 solved, 95% interval 57% to 100%" in answer.stdout


@pytest.mark.slow
def test_a_module_is_evaluated_while_it_learns() -> None:
    script = EXAMPLES / "evaluate_while_training.py"
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert len(re.findall(r"epoch \d: loss [\d.]+, \d/5 solved, 95% interval", answer.stdout)) == 3


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("engine.py", "--scale"),
        ("driver.py", "--scale"),
        pytest.param("scale.py", "--scale", marks=pytest.mark.slow),
        pytest.param("act.py", "--repetitions", marks=pytest.mark.slow),
        ("remote.py", "--only"),
        ("viewer.py", "--only"),
        pytest.param("dataset_io.py", "--only", marks=pytest.mark.slow),
        pytest.param("training.py", "--only", marks=pytest.mark.slow),
        ("motor_bus.py", "--only"),
        ("control.py", "--only"),
        ("recording.py", "--minutes"),
    ],
)
def test_the_benchmarks_start(name: str, flag: str) -> None:
    script = ROOT / "benchmarks" / name
    assert flag in subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True).stdout


# Options of policies that the guides themselves define.
OF_EXAMPLES = ("--policy.height", "--policy.noise", "--policy.width")


def test_every_flag_in_the_documentation_exists() -> None:
    with_flags = (
        "eval",
        "record",
        "replay",
        "serve",
        "compare",
        "plan",
        "report",
        "teleoperate",
        "train",
        "twin",
        "view",
    )
    helps = [yardarm_here(command, "--help").stdout for command in (*with_flags, "teleoperate")]
    script = "--teleop.type=scripted_pick_place"
    helps.append(yardarm_here("record", "--robot.type=so101_follower", script, "--help").stdout)
    helps += [yardarm_here("dataset", command, "--help").stdout for command in DATASET_COMMANDS]
    helps += [yardarm_here("runs", command, "--help").stdout for command in RUNS_COMMANDS]
    helps += [yardarm_here("robot", command, "--help").stdout for command in ROBOT_COMMANDS]
    helps += [
        yardarm_here(command, "--help").stdout
        for command in ("dataset-viz", "imgtransform-viz", "find-port", "find-cameras")
    ]
    camera = "--robot.cameras.front.type=opencv"
    arms = [("--robot.type=so101_follower", camera), ("--robot.type=bi_so_follower",), ("--teleop.type=so101_leader",)]
    helps += [yardarm_here("calibrate", *arm, "--help").stdout for arm in arms]
    helps += [yardarm_here("edit-dataset", f"--operation.type={name}", "--help").stdout for name in OPERATIONS]
    helps += [f"--{name}" for names in RENAMED.values() for name in names]
    known = set(re.findall(r"--[\w.-]*\w", " ".join(helps)))
    kinds = (ActConfig, DiffusionConfig, Pi0Config, Pi05Config, SmolVlaConfig)
    fields = [field for kind in kinds for field in dataclasses.fields(kind)]
    known |= {f"--policy.{field.name}" for field in fields}
    recipes = sorted((ROOT / "recipes").glob("*.sh"))
    pages = [page.read_text().replace("\\\n", " ") for page in (*PAGES, *recipes)]
    commands = [line.strip() for page in pages for line in page.splitlines() if line.lstrip().startswith("yardarm ")]
    assert commands
    for command in commands:
        for word in shlex.split(command, comments=True):
            flag = word.partition("=")[0]
            if flag.startswith("--") and flag not in OF_EXAMPLES:
                assert flag in known, command
