"""The Python API: evaluate, compare, record and train, with results that a notebook shows as tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.api.comparing import compare, read_run
    from yardarm.api.environments import make_env
    from yardarm.api.evaluating import evaluate, evaluate_several
    from yardarm.api.recording import FinishedRecording, record
    from yardarm.api.results import ComparedRuns, EvaluatedRun, EvaluatedRuns
    from yardarm.api.training import FinishedTraining, train

__all__ = [
    "ComparedRuns",
    "EvaluatedRun",
    "EvaluatedRuns",
    "FinishedRecording",
    "FinishedTraining",
    "compare",
    "evaluate",
    "evaluate_several",
    "make_env",
    "read_run",
    "record",
    "train",
]

__getattr__ = late_names(
    __name__,
    {
        **dict.fromkeys(("compare", "read_run"), "comparing"),
        "make_env": "environments",
        **dict.fromkeys(("evaluate", "evaluate_several"), "evaluating"),
        **dict.fromkeys(("FinishedRecording", "record"), "recording"),
        **dict.fromkeys(("EvaluatedRun", "ComparedRuns", "EvaluatedRuns"), "results"),
        **dict.fromkeys(("FinishedTraining", "train"), "training"),
    },
)
