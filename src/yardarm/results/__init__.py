"""What a run leaves on disk: records, journal, manifest, summary."""

from yardarm.results.episode_writer import EpisodeWriter, FinishedEpisode
from yardarm.results.eval_info import eval_info
from yardarm.results.files import PlayedEpisode, ReplayTrace, RunFolder
from yardarm.results.first_to_see import first_to_see
from yardarm.results.journal import Journal, read_journal
from yardarm.results.labels import LABELS, Labels, labels_file, read_labels, write_labels
from yardarm.results.manifest.run import MergedPart, PlannedTask, PlanRecord, RunManifest, TrackingRecord
from yardarm.results.manifest.session import (
    BatchingRecord,
    MachineRecord,
    PolicyRecord,
    RunnerRecord,
    SessionRecord,
    TuningChoiceRecord,
    TuningRecord,
)
from yardarm.results.manifest.stopping import (
    BUDGET_SPENT,
    DECIDED,
    PRECISION,
    STOPPING_RULES,
    PairedEvidence,
    RateEvidence,
    StoppingDeclaration,
    StoppingRecord,
)
from yardarm.results.manifest.training import DatasetRecord, TrainingManifest
from yardarm.results.manifest_writer import ManifestWriter
from yardarm.results.mixing import (
    VersionChange,
    about_mixed_versions,
    cautions,
    mixed_versions,
    software_of_sessions,
    version_changes,
)
from yardarm.results.policy_label import CheckpointPlace, PolicyLabel
from yardarm.results.provenance import now, provenance
from yardarm.results.record import EpisodeKey, EpisodeRecord
from yardarm.results.rescue import rescue
from yardarm.results.several import PolicyEntry, SeveralFolder
from yardarm.results.stored import StoredResult, is_going_on, planned_records, read_result
from yardarm.results.summary import Counts, Rate, RunResult, TaskResult, counted, summarise
from yardarm.results.training import Curve, CurveReader, TrainingFolder, read_curve
from yardarm.results.trashed import TrashedRecord, read_trashed
from yardarm.results.uncertainty import OVER_TASKS, PER_TASK, Uncertainty
from yardarm.results.versions import Software, simulator_packages, software_of, versions_in
from yardarm.results.video import VideoWriter

__all__ = [
    "BUDGET_SPENT",
    "DECIDED",
    "LABELS",
    "OVER_TASKS",
    "PER_TASK",
    "PRECISION",
    "STOPPING_RULES",
    "BatchingRecord",
    "CheckpointPlace",
    "Counts",
    "Curve",
    "CurveReader",
    "DatasetRecord",
    "EpisodeKey",
    "EpisodeRecord",
    "EpisodeWriter",
    "FinishedEpisode",
    "Journal",
    "Labels",
    "MachineRecord",
    "ManifestWriter",
    "MergedPart",
    "PairedEvidence",
    "PlanRecord",
    "PlannedTask",
    "PlayedEpisode",
    "PolicyEntry",
    "PolicyLabel",
    "PolicyRecord",
    "Rate",
    "RateEvidence",
    "ReplayTrace",
    "RunFolder",
    "RunManifest",
    "RunResult",
    "RunnerRecord",
    "SessionRecord",
    "SeveralFolder",
    "Software",
    "StoppingDeclaration",
    "StoppingRecord",
    "StoredResult",
    "TaskResult",
    "TrackingRecord",
    "TrainingFolder",
    "TrainingManifest",
    "TrashedRecord",
    "TuningChoiceRecord",
    "TuningRecord",
    "Uncertainty",
    "VersionChange",
    "VideoWriter",
    "about_mixed_versions",
    "cautions",
    "counted",
    "eval_info",
    "first_to_see",
    "is_going_on",
    "labels_file",
    "mixed_versions",
    "now",
    "planned_records",
    "provenance",
    "read_curve",
    "read_journal",
    "read_labels",
    "read_result",
    "read_trashed",
    "rescue",
    "simulator_packages",
    "software_of",
    "software_of_sessions",
    "summarise",
    "version_changes",
    "versions_in",
    "write_labels",
]
