"""The scheduler: looks where a policy asks for them, batches what is ready, and waits for nobody."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from toy_world import MoverPolicy, ToyConfig

from tests.helpers import courses, workers
from yardarm.api import evaluate
from yardarm.evaluation import EvaluationListener
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.results import EpisodeRecord, RunFolder
from yardarm.tasks import EpisodeSpec
from yardarm.tasks.metaworld import MetaworldConfig


class Witness:
    """Remembers what it was shown."""

    place = "host"

    def __init__(self, wants: ObservationSpec, chunk: int, looks: dict[str, list[int]] | None = None) -> None:
        self.wants = wants
        self.chunk = chunk
        self.looks = looks or {}
        self.seen: dict[tuple[str, int], list[tuple[int, tuple[str, ...]]]] = {}
        self.batches: list[int] = []

    def start(self, episode: EpisodeSpec) -> list[Any]:
        return self.seen.setdefault((episode.task.name, episode.index), [])

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        self.batches.append(len(requests))
        for request in requests:
            request.state.extend((look.step, tuple(look.values)) for look in request.looks)
        return [ActionChunk(np.zeros((self.chunk, 1)), self.looks) for _ in requests]


@pytest.mark.parametrize("use_async_envs", [True, False])
def test_a_policy_sees_what_it_asked_for_and_nothing_else(use_async_envs: bool) -> None:
    policy = Witness(
        ObservationSpec(("observation.image", "observation.state"), steps=2),
        chunk=8,
        looks={"observation.image": [8], "observation.state": [7, 8]},
    )
    evaluate(policy, ToyConfig(task="far"), n_episodes=1, use_async_envs=use_async_envs)
    both = ("observation.image", "observation.state")
    assert policy.seen["far", 0] == [
        (0, both),
        (7, ("observation.state",)),
        (8, both),
        (15, ("observation.state",)),
        (16, both),
    ]


def test_a_policy_that_reads_nothing_is_shown_nothing() -> None:
    policy = Witness(ObservationSpec(), chunk=20)
    evaluate(policy, ToyConfig(task="far"), n_episodes=2)
    assert policy.seen["far", 0] == [(0, ())], "after its last action there is nothing left to decide"


def test_looks_that_are_ready_share_a_batch() -> None:
    class Slow(Witness):
        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            time.sleep(0.05)
            return super().infer(requests)

    policy = Slow(ObservationSpec(("observation.state",)), chunk=1)
    run = evaluate(policy, ToyConfig(task="far,left", max_steps=10), n_episodes=4, batch_size=4)
    assert sum(policy.batches) == sum(record.steps for record in run.episodes)
    assert np.mean(policy.batches) > 1.5


def test_a_slow_episode_holds_nobody_up(tmp_path: Path) -> None:
    finished: list[int] = []

    class Order(EvaluationListener):
        def finished(self, record: EpisodeRecord) -> None:
            finished.append(record.key.index)

    config = ToyConfig(task="left", fault="hang", fault_at=0, fault_times=1, scratch=str(tmp_path))
    evaluate(MoverPolicy(), config, n_episodes=20, batch_size=2, timeout_s=5, listener=Order())
    assert finished == [*range(1, 20), 0]


def test_there_are_never_more_simulators_than_workers() -> None:
    class Census(EvaluationListener):
        most = 0

        def finished(self, record: EpisodeRecord) -> None:
            # A dismissed worker may take a moment to die: only those that are there twice count.
            first = workers()
            time.sleep(0.02)
            self.most = max(self.most, len([child for child in first if _runs(child)]))

    census = Census()
    evaluate("random", ToyConfig(task="left,right,far"), n_episodes=4, batch_size=2, listener=census)
    assert census.most == 2


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_task_that_is_selected_twice_runs_once(tmp_path: Path) -> None:
    config = MetaworldConfig(task="hard,push-v3", episode_length=3, obs_type="state")
    run = evaluate("zero", config, n_episodes=2, output_dir=tmp_path / "run")
    assert len((tmp_path / "run" / "episodes.jsonl").read_text().splitlines()) == 12
    assert [len(task.episodes) for task in run.tasks] == [2] * 7
    assert run.counts.episodes == 12


def test_images_reach_the_policy_whole(tmp_path: Path) -> None:
    """The same pixels for any batch size, on the real simulator."""

    class Photographer:
        wants = ObservationSpec(("observation.image", "observation.state"))
        place = "host"
        id = "photographer"

        def start(self, episode: EpisodeSpec) -> None:
            pass

        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            # The picture decides the actions, so that a wrong pixel shows in the journal.
            means = [request.observation["observation.image"].mean(axis=(0, 1)) / 255 for request in requests]
            return [ActionChunk(np.tile([*mean, 0.5], (5, 1))) for mean in means]

    size = {"observation_height": 32, "observation_width": 40}
    config = MetaworldConfig(task="push-v3", episode_length=10, **size)
    run = evaluate(Photographer(), config, n_episodes=2, batch_size=2, output_dir=tmp_path / "run")
    alone = evaluate(Photographer(), config, n_episodes=2, use_async_envs=False, output_dir=tmp_path / "alone")
    assert courses(run) == courses(alone)
    key = run.episodes[0].key
    assert len(np.unique(RunFolder(tmp_path / "run").load_played(key).actions, axis=0)) == 2
