"""Flags and files become sections; one word names a policy or a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import yardarm_here
from yardarm.cli.sections import gather, nested
from yardarm.config import FlagText
from yardarm.errors import UsageError


@pytest.mark.parametrize(
    ("flags", "sections"),
    [
        ({"policy": "act"}, {"policy": {"type": "act"}}),
        ({"policy": "act", "policy.n_action_steps": "8"}, {"policy": {"type": "act", "n_action_steps": "8"}}),
        ({"policy.device": "cpu", "policy": "lerobot/act"}, {"policy": {"path": "lerobot/act", "device": "cpu"}}),
        ({"policy": "act", "policy.path": "runs/act"}, {"policy": {"type": "act", "path": "runs/act"}}),
        ({"policy": "ws://127.0.0.1:8000"}, {"policy": {"url": "ws://127.0.0.1:8000"}}),
        ({"policy": "my_module:Mine"}, {"policy": {"type": "my_module:Mine"}}),
        ({"env": "metaworld", "env.task": "easy"}, {"env": {"type": "metaworld", "task": "easy"}}),
        ({"env": "owner/world"}, {"env": {"type": "hub", "path": "owner/world"}}),
        ({"robot": "so101_follower", "robot.id": "b"}, {"robot": {"type": "so101_follower", "id": "b"}}),
        ({"teleop": "koch_leader"}, {"teleop": {"type": "koch_leader"}}),
        ({"against": "expert"}, {"against": "expert"}),
        ({"against": "runs/b", "against.device": "cpu"}, {"against": {"path": "runs/b", "device": "cpu"}}),
    ],
)
def test_a_word_names_a_section_and_combines_with_its_options(flags: dict[str, str], sections: dict[str, Any]) -> None:
    assert nested(flags, {}) == sections


def test_what_a_word_says_was_typed_so_it_may_name_code() -> None:
    assert isinstance(nested({"policy": "my_module:Mine"}, {})["policy"]["type"], FlagText)


def test_a_word_replaces_what_a_file_names() -> None:
    base = {"policy": {"path": "runs/a", "n_action_steps": 8}, "env": {"type": "metaworld", "task": "easy"}}
    assert nested({"policy": "expert"}, base)["policy"] == {"type": "expert"}
    assert nested({"policy": "expert"}, {"policy": ["random", "expert"]})["policy"] == {"type": "expert"}
    assert nested({"env": "pusht"}, base)["env"] == {"type": "pusht"}


def test_a_word_keeps_the_files_options_of_what_it_names_again() -> None:
    base = {"policy": {"path": "runs/a", "n_action_steps": 8}}
    assert nested({"policy": "runs/a", "policy.device": "cpu"}, base)["policy"] == {
        "path": "runs/a",
        "n_action_steps": 8,
        "device": "cpu",
    }


def test_a_file_and_flags_are_gathered(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("policy: {type: random}\nenv: {type: metaworld, task: easy}\n")
    assert gather({"config_path": str(file), "policy": "expert", "env.task": "hard"}) == {
        "policy": {"type": "expert"},
        "env": {"type": "metaworld", "task": "hard"},
    }


def test_two_names_for_one_thing_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--env=metaworld means --env.type=metaworld, but --env.type=pusht is given"):
        nested({"env": "metaworld", "env.type": "pusht"}, {})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval", "--policy", "--env=metaworld"], "--policy needs a value"),
        (["eval", "--policy=act", "--env=metaworld"], "--policy.type=act needs trained weights"),
        (["eval", "--policy=expret", "--env=metaworld"], "unknown policy 'expret'; did you mean 'expert'?"),
        (["eval", "--policy=expert", "--env=metawrld"], "unknown benchmark 'metawrld'; did you mean 'metaworld'?"),
        (["eval", "--policy=no/such/folder", "--env=metaworld"], "there is no such folder, and it is not a Hub id"),
        (["train", "--policy=expert", "--dataset.root=x"], "--policy.type=expert cannot be trained"),
        (
            ["record", "--dataset.num_episodes=1", "--n_episodes=1"],
            "--dataset.num_episodes and --n_episodes are two names of one option",
        ),
        (["record", "--robot.type=so101"], "unknown robot 'so101'"),
        (["record", "--play_sounds"], "--play_sounds=true: recording makes no sounds"),
        (["rollout"], "rollout: policies cannot act on a robot yet"),
        (["lerobot-replay", "--dataset.repo_id=me/reach"], "which arm? Give --robot.type=so101_follower"),
        (["lerobot-evil"], "unknown command 'lerobot-evil'"),
        (["lerobot-eval", "reach-v3"], "yardarm eval takes flags only, not 'reach-v3'"),
        (["lerobot_train", "--steps=3"], "which dataset?"),
    ],
)
def test_a_mistake_gets_one_line(words: list[str], message: str) -> None:
    answer = yardarm_here(*words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_values_that_ask_for_what_happens_anyway_are_accepted() -> None:
    words = ["record", "--policy=expert", "--env=metaworld", "--play_sounds=false", "--display_data=False"]
    answer = yardarm_here(*words, "--dataset.no_stamp=true")
    assert "--dataset.root=FOLDER is missing" in answer.stderr


def test_the_help_shows_the_flags_of_a_world_that_is_named_by_one_word() -> None:
    assert "--env.control_mode" in yardarm_here("lerobot-eval", "--env=libero", "--help").stdout
    assert "yardarm lerobot-eval" in yardarm_here("--help").stdout
