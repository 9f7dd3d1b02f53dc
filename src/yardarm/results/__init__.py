"""What a run leaves on disk: records, journal, manifest, summary."""

from yardarm.results.episode_writer import EpisodeWriter, FinishedEpisode
from yardarm.results.eval_info import eval_info
from yardarm.results.files import PlayedEpisode, ReplayTrace, RunFolder
from yardarm.results.journal import Journal, read_journal
from yardarm.results.manifest import Manifest, joined_sessions, now, provenance, sessions_of
from yardarm.results.mixing import (
    VersionChange,
    about_mixed_versions,
    benchmarks_of,
    cautions,
    mixed_versions,
    software_of_sessions,
    version_changes,
)
from yardarm.results.record import EpisodeKey, EpisodeRecord
from yardarm.results.rescue import rescue
from yardarm.results.several import PolicyEntry, SeveralFolder
from yardarm.results.stored import StoredResult, is_going_on, planned_number, planned_records, read_result
from yardarm.results.summary import BUDGET_SPENT, Counts, Rate, RunResult, TaskResult, counted, summarise
from yardarm.results.training import TRAINING_FORMAT, Curve, CurveReader, TrainingFolder, read_curve
from yardarm.results.uncertainty import OVER_TASKS, PER_TASK, Uncertainty
from yardarm.results.versions import Software, simulator_packages, software_of, versions_in
from yardarm.results.video import VideoWriter

__all__ = [
    "BUDGET_SPENT",
    "OVER_TASKS",
    "PER_TASK",
    "TRAINING_FORMAT",
    "Counts",
    "Curve",
    "CurveReader",
    "EpisodeKey",
    "EpisodeRecord",
    "EpisodeWriter",
    "FinishedEpisode",
    "Journal",
    "Manifest",
    "PlayedEpisode",
    "PolicyEntry",
    "Rate",
    "ReplayTrace",
    "RunFolder",
    "RunResult",
    "SeveralFolder",
    "Software",
    "StoredResult",
    "TaskResult",
    "TrainingFolder",
    "Uncertainty",
    "VersionChange",
    "VideoWriter",
    "about_mixed_versions",
    "benchmarks_of",
    "cautions",
    "counted",
    "eval_info",
    "is_going_on",
    "joined_sessions",
    "mixed_versions",
    "now",
    "planned_number",
    "planned_records",
    "provenance",
    "read_curve",
    "read_journal",
    "read_result",
    "rescue",
    "sessions_of",
    "simulator_packages",
    "software_of",
    "software_of_sessions",
    "summarise",
    "version_changes",
    "versions_in",
]
