"""How many workers a run gets when nobody says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from yardarm.engine import EngineOptions, workers
from yardarm.policies import BatchedPolicy, Batching, Observations, Traits

SCRIPTED = SimpleNamespace(place="worker")
OF_ONES_OWN = SimpleNamespace(place="host")


class Threaded(BatchedPolicy):
    def __init__(self, threads: int) -> None:
        self.batching = Batching(8, threads)

    def predict(self, observations: Observations) -> np.ndarray:
        raise AssertionError("nobody asks")


ON_A_GPU, ON_ALL_CORES = Threaded(1), Threaded(2)


@pytest.mark.parametrize(
    ("policy", "lanes", "episodes", "expected"),
    [
        (SCRIPTED, None, 100, 4),
        (OF_ONES_OWN, None, 100, 5),
        (OF_ONES_OWN, 64, 100, 8),
        (OF_ONES_OWN, 6, 100, 6),
        (ON_A_GPU, None, 100, 5),
        (ON_ALL_CORES, None, 100, 4),
        (SCRIPTED, None, 3, 3),
        (SCRIPTED, None, 5, 3),
        (SCRIPTED, None, 6, 3),
        (SCRIPTED, None, 9, 3),
        (SCRIPTED, None, 10, 4),
    ],
)
def test_as_many_as_cores_and_no_more_than_the_rounds_need(
    policy: Any, lanes: int | None, episodes: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "usable_cores", lambda: 4)
    loaded: Any = SimpleNamespace(policy=policy, traits=Traits(lanes=lanes))
    assert workers.how_many_workers(EngineOptions(), [loaded], episodes) == expected


def test_who_says_a_number_gets_it() -> None:
    loaded: Any = SimpleNamespace(policy=ON_ALL_CORES, traits=Traits())
    assert workers.how_many_workers(EngineOptions(batch_size=7), [loaded], 100) == 7
    assert workers.how_many_workers(EngineOptions(batch_size=7), [loaded], 5) == 5
    assert workers.how_many_workers(EngineOptions(use_async_envs=False), [loaded], 100) == 1
