"""A configuration holds what its annotations say, whoever makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yardarm.config import fitted
from yardarm.errors import UsageError
from yardarm.evaluation import EvalOptions
from yardarm.policies import OptimizerOptions
from yardarm.recording import RecordDatasetOptions
from yardarm.tasks.metaworld import MetaworldConfig
from yardarm.tracking import WandbOptions
from yardarm.training import TrainDatasetOptions, TrainOptions


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (EvalOptions, {"n_episodes": "ten"}, "--eval.n_episodes must be a whole number, got 'ten'"),
        (EvalOptions, {"n_episodes": 10.0}, "--eval.n_episodes must be a whole number, got 10.0"),
        (EvalOptions, {"batch_size": True}, "--eval.batch_size must be a whole number, got True"),
        (EvalOptions, {"batch_size": np.True_}, "--eval.batch_size must be a whole number, got True"),
        (EvalOptions, {"exact": 1}, "--eval.exact must be true or false, got 1"),
        (EvalOptions, {"confidence": "high"}, "--eval.confidence must be a number, got 'high'"),
        (EvalOptions, {"stop": None}, "--eval.stop must be text, got None"),
        (MetaworldConfig, {"task": 3}, "--env.task must be text, got 3"),
        (WandbOptions, {"enable": "yes"}, "--wandb.enable must be true or false, got 'yes'"),
        (OptimizerOptions, {"lr": "fast"}, "--optimizer.lr must be a number, got 'fast'"),
        (RecordDatasetOptions, {"root": 5}, "--dataset.root must be a path, got 5"),
        (TrainOptions, {"steps": None}, "--steps must be a whole number, got None"),
        (TrainDatasetOptions, {"root": "x", "episodes": "all"}, "--dataset.episodes must be a list"),
        (TrainDatasetOptions, {"root": "x", "episodes": [0, "1"]}, "--dataset.episodes must be a list"),
    ],
)
def test_a_wrong_type_is_refused_with_its_name_and_what_it_should_be(
    kind: type, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        kind(**given)
    assert str(refused.value).startswith(message)


def test_numpys_numbers_and_text_for_paths_are_welcome() -> None:
    options = EvalOptions(n_episodes=np.int64(7), confidence=np.float32(0.5), exact=np.False_)
    assert (options.n_episodes, type(options.n_episodes)) == (7, int)
    assert (options.confidence, type(options.confidence)) == (0.5, float)
    assert options.exact is False
    dataset = TrainDatasetOptions(root="data", episodes=np.arange(3))
    assert (dataset.root, dataset.episodes) == (Path("data"), [0, 1, 2])
    assert all(type(episode) is int for episode in dataset.episodes or ())


def test_a_whole_number_may_stand_for_a_number() -> None:
    assert EvalOptions(timeout_s=5).timeout_s == 5


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(UsageError) as refused:
        fitted("seed", int, list(range(1000)))
    assert len(str(refused.value)) < 120
