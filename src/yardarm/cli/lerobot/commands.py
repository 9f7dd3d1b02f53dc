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
    "find-port": "commands.find_port",
    "find-cameras": "commands.find_cameras",
    "setup-motors": "commands.setup_motors",
    "calibrate": "commands.calibrate",
    "find-joint-limits": "commands.find_joint_limits",
    "replay": "commands.replay",
    "teleoperate": "commands.teleoperate",
    "dataset-viz": "lerobot.dataset_viz",
    "edit-dataset": "lerobot.edit_dataset",
    "imgtransform-viz": "lerobot.imgtransform_viz",
}
ABSENT = {
    "annotate": "datasets cannot be annotated yet; `yardarm dataset rename-task` rewords an instruction",
    "train-tokenizer": "action tokenizers cannot be trained here, because no policy here uses one",
    "setup-can": "robots on a CAN bus are not there yet",
    "rollout": "policies cannot act on a robot yet; `yardarm eval` lets them act in simulation",
}


def find_command(command: str) -> str | None:
    """The module that runs one of LeRobot's commands; None if LeRobot has no command of this name."""
    name = command.replace("_", "-").removeprefix(PREFIX)
    if name in ABSENT:
        raise UsageError(f"{command}: {ABSENT[name]}")
    return MODULES.get(name)
