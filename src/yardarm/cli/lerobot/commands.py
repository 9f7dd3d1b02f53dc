"""LeRobot's commands, with and without ``lerobot-``: what runs them here, or why nothing does."""

from __future__ import annotations

from yardarm.errors import UsageError

__all__ = ["find_command"]

PREFIX = "lerobot-"
# The modules below `yardarm.cli`.
MODULES = {
    "eval": "commands.eval",
    "train": "commands.train",
    "record": "commands.record",
    "info": "commands.info",
    "dataset-viz": "lerobot.dataset_viz",
    "edit-dataset": "lerobot.edit_dataset",
    "imgtransform-viz": "lerobot.imgtransform_viz",
}
NO_ROBOTS = "commands for robots are not there yet; `yardarm eval` and `yardarm record` work in simulation"
ABSENT = {
    "replay": "it plays a dataset's episode on a robot, and commands for robots are not there yet; `yardarm replay` "
    "renders an episode of an evaluation, `yardarm dataset view` shows one of a dataset",
    "annotate": "datasets cannot be annotated yet; `yardarm dataset rename-task` rewords an instruction",
    "train-tokenizer": "action tokenizers cannot be trained here, because no policy here uses one",
    **dict.fromkeys(
        (
            *("calibrate", "find-cameras", "find-joint-limits", "find-port", "rollout", "setup-can", "setup-motors"),
            "teleoperate",
        ),
        NO_ROBOTS,
    ),
}


def find_command(command: str) -> str | None:
    """The module that runs one of LeRobot's commands; None if LeRobot has no command of this name."""
    name = command.replace("_", "-").removeprefix(PREFIX)
    if name in ABSENT:
        raise UsageError(f"{command}: {ABSENT[name]}")
    return MODULES.get(name)
