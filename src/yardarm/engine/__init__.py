"""Plays episodes: scheduler, queues, inference, workers, and where they live. Knows nothing of evaluations."""

from yardarm.engine.exactness import FixedBatching, batching_text, fix_batching
from yardarm.engine.film import VIDEO_FPS, VIDEO_HEIGHT, Filming, film_of, video_size
from yardarm.engine.inference import Inference
from yardarm.engine.options import MOST_WORKERS, EngineOptions
from yardarm.engine.player import Player
from yardarm.engine.policy_thread import ComputeTurn, TimeLimit
from yardarm.engine.queue import EpisodeQueue, Job, LineupQueue, PlannedOrderQueue, Queue
from yardarm.engine.runner import LocalRunner, Runner, Setting
from yardarm.engine.scheduler import EpisodeResult, Scheduler, Supervisor
from yardarm.engine.tuning import Tuner, TuningChoice, tuner_for
from yardarm.engine.workers import looks_at_pictures, open_process_pool

__all__ = [
    "MOST_WORKERS",
    "VIDEO_FPS",
    "VIDEO_HEIGHT",
    "ComputeTurn",
    "EngineOptions",
    "EpisodeQueue",
    "EpisodeResult",
    "Filming",
    "FixedBatching",
    "Inference",
    "Job",
    "LineupQueue",
    "LocalRunner",
    "PlannedOrderQueue",
    "Player",
    "Queue",
    "Runner",
    "Scheduler",
    "Setting",
    "Supervisor",
    "TimeLimit",
    "Tuner",
    "TuningChoice",
    "batching_text",
    "film_of",
    "fix_batching",
    "looks_at_pictures",
    "open_process_pool",
    "tuner_for",
    "video_size",
]
