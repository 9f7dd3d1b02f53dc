"""What a run leaves on disk: records, journal, manifest, summary."""

from yardarm.results.eval_info import eval_info
from yardarm.results.files import PlayedEpisode, ReplayTrace, RunFolder
from yardarm.results.journal import Journal, read_journal
from yardarm.results.keeping import Keeper, KeptEpisode
from yardarm.results.manifest import Manifest, joined_sessions, now, provenance, sessions_of
from yardarm.results.record import EpisodeKey, EpisodeRecord, EpisodeTiming
from yardarm.results.several import ListedPolicy, SeveralFolder
from yardarm.results.stored import StoredResult, is_going_on, planned_number, planned_records, read_result
from yardarm.results.summary import BUDGET_SPENT, Counts, Rate, RunResult, TaskResult, counted, summarise
from yardarm.results.training import Curve, CurveReader, TrainingFolder, read_curve
from yardarm.results.uncertainty import OVER_TASKS, PER_TASK, Uncertainty
from yardarm.results.versions import simulator_packages, versions_in
from yardarm.results.video import VideoWriter

__all__ = [
    "BUDGET_SPENT",
    "OVER_TASKS",
    "PER_TASK",
    "Counts",
    "Curve",
    "CurveReader",
    "EpisodeKey",
    "EpisodeRecord",
    "EpisodeTiming",
    "Journal",
    "Keeper",
    "KeptEpisode",
    "ListedPolicy",
    "Manifest",
    "PlayedEpisode",
    "Rate",
    "ReplayTrace",
    "RunFolder",
    "RunResult",
    "SeveralFolder",
    "StoredResult",
    "TaskResult",
    "TrainingFolder",
    "Uncertainty",
    "VideoWriter",
    "counted",
    "eval_info",
    "is_going_on",
    "joined_sessions",
    "now",
    "planned_number",
    "planned_records",
    "provenance",
    "read_curve",
    "read_journal",
    "read_result",
    "sessions_of",
    "simulator_packages",
    "summarise",
    "versions_in",
]
