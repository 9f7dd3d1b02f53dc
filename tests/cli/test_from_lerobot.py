"""docs/from-lerobot.md: what it calls the same is accepted, what it calls absent is answered, and all is there."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import GOLDEN
from yardarm.cli.commands.find_joint_limits import LimitsOptions
from yardarm.cli.commands.teleoperate import TeleoperateOptions
from yardarm.cli.devices import take_device
from yardarm.cli.episode_on_robot import EpisodeOptions, EpisodeSource
from yardarm.cli.flags import Flags
from yardarm.cli.lerobot.commands import find_command
from yardarm.cli.lerobot.dataset_viz import own_flags
from yardarm.cli.lerobot.edit_dataset import read_edit
from yardarm.cli.lerobot.imgtransform_viz import read_options
from yardarm.cli.lerobot.spellings import own_spellings
from yardarm.cli.robot_recording import RobotRecordOptions
from yardarm.cli.sections import nested
from yardarm.config import decode
from yardarm.errors import UsageError
from yardarm.evaluation import config_from_data as read_evaluation
from yardarm.recording import RecordConfig
from yardarm.recording.robot import RobotDatasetOptions
from yardarm.training import config_from_data as read_training

PAGE = Path(__file__).parents[2] / "docs" / "from-lerobot.md"
LEROBOTS: dict[str, list[str]] = json.loads((GOLDEN / "lerobot_flags.json").read_text())["flags"]
WORLDS = {"metaworld": "reach-v3", "libero": "libero_10", "pusht": "PushT-v0", "aloha": "AlohaInsertion-v0"}
CHECKPOINT = {"policy.path": "lerobot/act"}
HUB = {"dataset.push_to_hub": "true", "dataset.repo_id": "me/reach"}
RECORDED = {"eval.recording": "true", "eval.recording_repo_id": "me/rollouts"}
# What a flag needs beside it.
NEEDS = {
    **dict.fromkeys(("dataset.private", "dataset.tags", "dataset.push_to_hub"), HUB),
    **dict.fromkeys(("eval.recording_repo_id", "eval.recording_private"), RECORDED),
    **{"dataset.eval_split": {"eval_steps": "1"}, "eval_steps": {"dataset.eval_split": "0.1"}},
}


@dataclass(frozen=True)
class Row:
    """A flag of a table, as the page spells it."""

    command: str
    flag: str
    value: str
    status: str
    kind: str
    """The operation that stands in the same row, if there is one."""

    def __str__(self) -> str:
        return f"{self.command} --{self.flag}"


def tables() -> list[tuple[str, list[str]]]:
    """The lines of each table, by what its first column is called."""
    found = re.findall(r"^\| (.*?) \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    return [(title, [line for line in lines.splitlines() if line]) for title, lines in found]


def rows() -> list[Row]:
    found = []
    for title, lines in tables():
        for line in lines:
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            flags = re.findall(r"`--([^`=]+)=([^`]*)`", cells[0])
            kind = next((value for name, value in flags if name == "operation.type"), "")
            found += [Row(title.strip("`"), name, value, cells[1], kind) for name, value in flags]
    return found


ROWS = rows()


def read(row: Row, world: str = "metaworld") -> Any:
    """Have the command's own configuration read the flag, with what it cannot do without."""
    needed = {} if row.status == "absent" else NEEDS.get(row.flag, {})
    flags = {**needed, row.flag: row.value}
    if row.command == "lerobot-eval":
        policy = CHECKPOINT if row.flag.startswith("policy.") else {"policy.type": "expert"}
        return read_evaluation(nested(own_spellings("eval", _over(flags, policy, {"env.type": "metaworld"})), {}))
    if row.command == "--env.…":
        base = {"policy.type": "random", "env.type": world, "env.task": WORLDS[world]}
        flags = {} if row.value == "…" else flags
        return read_evaluation(nested(own_spellings("eval", {**base, **flags}), {}))
    if row.command == "lerobot-train":
        trained = row.flag.startswith(("peft.", "policy.p")) or row.flag == "rename_map"
        base = {"dataset.root": "data/reach", **(CHECKPOINT if trained else {"policy.type": "act"})}
        return read_training(nested(own_spellings("train", _over(flags, base)), {}))
    if row.command == "lerobot-record":
        return read_robot_recording(own_spellings("record on a robot", flags))
    if row.command == "yardarm record --env.…":
        base = {"policy.type": "expert", "env.type": "metaworld", "dataset.root": "data/reach"}
        return RecordConfig.from_data(nested(own_spellings("record", _over(flags, base)), {}))
    if row.command == "lerobot-edit-dataset":
        return read_edit({"operation.type": row.kind or "info", **flags})
    if row.command == "lerobot-dataset-viz":
        return own_flags({name.replace("-", "_"): value for name, value in flags.items()})
    if row.command == "--robot.…":
        return read_arm(own_spellings("calibrate", flags))
    if row.command == "lerobot-find-joint-limits":
        return decode(LimitsOptions, "", nested(own_spellings("find-joint-limits", flags), {}), "find-joint-limits")
    if row.command == "lerobot-teleoperate":
        return decode(TeleoperateOptions, "", nested(own_spellings("teleoperate", flags), {}), "teleoperate")
    if row.command == "lerobot-replay":
        data = nested(own_spellings("replay", flags), {})
        return decode(EpisodeSource, "dataset", data.pop("dataset", {})), decode(EpisodeOptions, "", data, "replay")
    return read_options(_over(flags, {"repo_id": "me/reach"}))


def read_robot_recording(flags: Flags) -> Any:
    """What is recorded on a robot, and of which one."""
    if next(iter(flags)).startswith(("robot.", "teleop.")):
        return read_arm(flags)
    data = nested({"dataset.root": "data/cube", "dataset.single_task": "pick", **flags}, {})
    dataset = decode(RobotDatasetOptions, "dataset", data.pop("dataset"), "record")
    return dataset, decode(RobotRecordOptions, "", data, "record")


def read_arm(flags: Flags) -> Any:
    """An arm of the type that has the option."""
    side, _, option = next(iter(flags)).partition(".")
    kind = {"robot": "so101_follower", "teleop": "so101_leader"}[side]
    if "_arm_config." in option:
        kind = {"robot": "bi_so_follower", "teleop": "bi_so_leader"}[side]
    base = {f"{side}.type": "koch_leader" if option == "gripper_open_pos" else kind, f"{side}.id": "blue"}
    ports = ("left_arm_config.port", "right_arm_config.port") if kind.startswith("bi_") else ("port",)
    base |= {f"{side}.{port}": f"/dev/none-{number}" for number, port in enumerate(ports)}
    return take_device(nested({**base, **flags}, {}), "calibrate")


def _over(flags: Flags, *bases: Flags) -> Flags:
    """The flags on top of a base, whose checkpoint goes if the flags bring their own under LeRobot's name."""
    base = {name: value for part in bases for name, value in part.items()}
    if "policy.pretrained_path" in flags:
        base.pop("policy.path", None)
    return {**base, **flags}


@pytest.mark.parametrize("row", [row for row in ROWS if row.status != "absent"], ids=str)
def test_what_the_page_calls_the_same_is_accepted(row: Row) -> None:
    worlds = [world for world in WORLDS if row.flag in LEROBOTS[f"env {world}"]] or ["metaworld"]
    for world in worlds if row.command == "--env.…" else ["metaworld"]:
        assert read(row, world) is not None


@pytest.mark.parametrize("row", [row for row in ROWS if row.status == "absent"], ids=str)
def test_what_the_page_calls_absent_has_an_answer_of_its_own(row: Row) -> None:
    with pytest.raises(UsageError) as answer:
        read(row)
    assert f"--{row.flag.replace('-', '_')}" in str(answer.value) or (row.kind and row.kind in str(answer.value))
    assert "unknown" not in str(answer.value)


@pytest.mark.parametrize("command", sorted({name.split()[0] for name in LEROBOTS} - {"env"}))
def test_the_page_has_every_flag_of_lerobots_command(command: str) -> None:
    lerobots = {flag for name, flags in LEROBOTS.items() if name.split()[0] == command for flag in flags}
    assert lerobots - {row.flag for row in ROWS if row.command == command} == set()


def test_the_page_has_every_flag_of_lerobots_worlds() -> None:
    lerobots = {flag for world in WORLDS for flag in LEROBOTS[f"env {world}"]}
    assert lerobots - {row.flag for row in ROWS if row.command == "--env.…"} == set()


def test_the_page_has_every_command_of_lerobot_and_what_runs_it() -> None:
    lines = next(lines for title, lines in tables() if title == "LeRobot")
    listed: dict[str, str] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        listed |= dict.fromkeys(re.findall(r"`(lerobot-[\w-]+)`", cells[0]), cells[2])
    assert len(listed) == 18  # as many as LeRobot 0.6.1 installs
    for command, status in listed.items():
        if status == "absent":
            with pytest.raises(UsageError, match=command):
                find_command(command)
        else:
            assert importlib.import_module(f"yardarm.cli.{find_command(command)}").run
