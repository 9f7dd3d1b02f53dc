"""Videos of the first episodes of each task, rendered after the evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.engine import film_of, open_process_pool
from yardarm.evaluation.config import EvalOptions
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.plan import Plan
from yardarm.machine import usable_cores
from yardarm.results import Journal, RunFolder

if TYPE_CHECKING:
    from yardarm.replay import Replay

__all__ = ["film_finished_episodes"]


def film_finished_episodes(
    folder: RunFolder, plan: Plan, journal: Journal, options: EvalOptions, listener: EvaluationListener
) -> None:
    """Replay the first episodes of each task, where they have no video yet."""
    replays = [replay for replay in _replays(folder, plan, journal, options.videos) if not replay.path.exists()]
    if not replays:
        return
    from yardarm.replay import replay_all

    with open_process_pool(folder.worker_log, min(usable_cores(), len(replays)), options.timeout_s) as pool:
        pool.choose_renderer([replay.episode.task for replay in replays])
        listener.filming(replays)
        for result in replay_all(replays, pool, listener.filmed_frame):
            listener.filmed(result)


def _replays(folder: RunFolder, plan: Plan, journal: Journal, videos: int) -> list[Replay]:
    from yardarm.replay import Replay

    replays = []
    for episode in plan.episodes():
        env = episode.task.env
        if episode.index >= videos or not env.replayable or not env.cameras:
            continue
        record = journal.records.get(plan.key(episode))
        if record is not None and record.status != "error":
            film, fps = film_of(episode.task)
            path = folder.video(record.key, film.camera)
            replays.append(Replay(folder, episode, record, path, film, fps))
    return replays
