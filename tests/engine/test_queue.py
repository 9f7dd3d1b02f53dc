"""Queues: all jobs once, few players and tasks at a time, workers that stay with their task."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from toy_world import ToyConfig

from yardarm.engine.queue import EpisodeQueue, Job, LineupQueue
from yardarm.evaluation.policy_names import distinct_names
from yardarm.policies import PolicySpec
from yardarm.tasks import EpisodeSpec, TaskSpec

TASKS = ToyConfig(task="left,right,far").tasks()


def jobs_of(players: int, episodes: int) -> list[Job]:
    return [
        Job(EpisodeSpec(task, index, index), player)
        for task in TASKS
        for index in range(episodes)
        for player in range(players)
    ]


@given(
    players=st.integers(1, 5),
    episodes=st.integers(1, 3),
    at_once=st.integers(1, 4),
    parallel=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
def test_every_job_is_handed_out_once_and_few_players_play_at_a_time(
    players: int, episodes: int, at_once: int, parallel: int, seed: int
) -> None:
    random = Random(seed)
    left: list[int] = []
    queue = LineupQueue(jobs_of(players, episodes), at_once, parallel, left.append)
    hands: list[tuple[Job, TaskSpec]] = []
    done: list[Job] = []
    unfinished = Counter({player: len(TASKS) * episodes for player in range(players)})
    begun: set[int] = set()
    at_hand: TaskSpec | None = None
    while True:
        job = queue.take(at_hand) if len(hands) < 3 else None
        if job is not None:
            hands.append((job, job.episode.task))
            begun.add(job.player)
            assert len({player for player in begun if unfinished[player]}) <= at_once
            assert not parallel or len({own.task for own, _ in hands}) <= parallel
            at_hand = None
            continue
        if not hands:
            break
        finished, at_hand = hands.pop(random.randrange(len(hands)))
        if random.random() < 0.2:
            queue.put_back(finished)
            continue
        queue.done(finished)
        done.append(finished)
        unfinished[finished.player] -= 1
    assert Counter(done) == Counter(dict.fromkeys(done, 1))
    assert len(done) == players * episodes * len(TASKS)
    assert sorted(left) == list(range(players))


def test_a_worker_keeps_its_task_from_player_to_player() -> None:
    queue = LineupQueue(jobs_of(players=4, episodes=2), at_once=2)
    played, at_hand = [], None
    while (job := queue.take(at_hand)) is not None:
        at_hand = job.episode.task
        played.append((job.task[2], job.player))
        queue.done(job)
    changes = sum(one[0] != other[0] for one, other in itertools.pairwise(played))
    assert changes <= 2 * len(TASKS) - 1, "each task once for each two players"


def test_a_player_that_withdraws_makes_room() -> None:
    queue = LineupQueue(jobs_of(players=2, episodes=1), at_once=1)
    first = queue.take()
    assert first is not None
    queue.withdraw(first.player, [first])
    second = queue.take()
    assert second is not None
    assert second.player != first.player


def test_names_tell_checkpoints_apart_by_as_little_as_needed() -> None:
    trained = [f"{name}/checkpoints/010/pretrained_model" for name in ("a", "b")]
    paths = [*trained, "c/checkpoints/last", "c-2", "c"]
    names = distinct_names([PolicySpec("pretrained", {"path": path}) for path in paths])
    assert names == ["a_010", "b_010", "c", "c-2", "c-3"]


@given(episodes=st.integers(1, 6), workers=st.integers(1, 5), parallel=st.integers(0, 3), seed=st.integers(0, 1000))
def test_a_worker_keeps_its_task_as_long_as_that_has_episodes_left(
    episodes: int, workers: int, parallel: int, seed: int
) -> None:
    random = Random(seed)
    queue = EpisodeQueue(jobs_of(1, episodes), parallel)
    left = Counter({task.key(): episodes for task in TASKS})
    hands: list[Job] = []
    while hands or any(left.values()):
        at_hand: TaskSpec | None = None
        if len(hands) == workers or (hands and random.random() < 0.5):
            finished = hands.pop(random.randrange(len(hands)))
            queue.done(finished)
            at_hand = finished.episode.task
        job = queue.take(at_hand)
        if job is None:
            # Nothing is left, or only of tasks beyond the limit.
            assert not any(left.values()) or len({own.task for own in hands}) == parallel
            if not hands:
                break
            queue.done(hands.pop())
            continue
        others = {own.task for own in hands}
        if at_hand is not None and left[at_hand.key()] and (at_hand.key() in others or len(others) < (parallel or 99)):
            assert job.task == at_hand.key()
        hands.append(job)
        left[job.task] -= 1
        assert not parallel or len({own.task for own in hands}) <= parallel
    assert not any(left.values())
