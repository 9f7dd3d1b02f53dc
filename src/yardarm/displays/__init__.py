"""What somebody who waits sees: progress on a terminal, in a notebook or in a log file.

A display is imported when it is opened: it knows what it shows, which takes time to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.displays.control import live_table
    from yardarm.displays.evaluation import Display, divergence_warning, open_display
    from yardarm.displays.python import is_watched, open_console
    from yardarm.displays.recording import RecordingDisplay
    from yardarm.displays.robot_recording import RobotRecordingDisplay
    from yardarm.displays.training import TrainingDisplay, open_training_display, stop_after_step

__all__ = [
    "Display",
    "RecordingDisplay",
    "RobotRecordingDisplay",
    "TrainingDisplay",
    "divergence_warning",
    "is_watched",
    "live_table",
    "open_console",
    "open_display",
    "open_training_display",
    "stop_after_step",
]

__getattr__ = late_names(
    __name__,
    {
        **dict.fromkeys(("Display", "divergence_warning", "open_display"), "evaluation"),
        **dict.fromkeys(("is_watched", "open_console"), "python"),
        "live_table": "control",
        "RecordingDisplay": "recording",
        "RobotRecordingDisplay": "robot_recording",
        **dict.fromkeys(("TrainingDisplay", "open_training_display", "stop_after_step"), "training"),
    },
)
