from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.comparison.runs import TASK, made_up
from yardarm.comparison import RunOutcomes, compare
from yardarm.errors import UsageError
from yardarm.stats import PairedCounts, bonett_price, mcnemar

GOOD = [True] * 18 + [False] * 2
MIDDLE = [True] * 9 + [False] * 11
BAD = [False] * 18 + [True, False]


def joined(name: str, *runs: RunOutcomes) -> RunOutcomes:
    return replace(runs[0], name=name, outcomes={key: own for run in runs for key, own in run.outcomes.items()})


def test_two_runs_are_compared_by_task_and_over_all() -> None:
    other = "metaworld/push-v3"
    a = joined("a", made_up("a", GOOD), made_up("a", MIDDLE, task=other))
    b = joined("b", made_up("b", BAD), made_up("b", MIDDLE, task=other))
    comparison = compare([a, b])
    (pair,) = comparison.pairs
    counts = PairedCounts(both=9, only_a=18, only_b=1, neither=12)
    assert pair.overall.counts == counts
    assert pair.overall.p_value == mcnemar(counts)
    assert pair.overall.interval == bonett_price(counts)
    assert pair.better(0.05) == "a"
    assert [row.task for row in pair.tasks] == [TASK, other]
    assert pair.tasks[0].p_adjusted == 2 * pair.tasks[0].p_value, "allowing for two tasks"
    assert not comparison.first_is_worse()
    assert compare([b, a]).first_is_worse()


def test_seeds_that_do_not_match_are_compared_unpaired_and_told_of() -> None:
    (pair,) = compare([made_up("a", GOOD), made_up("b", BAD, first_seed=5000)]).pairs
    assert pair.method == "boschloo"
    assert pair.overall.counts is None
    assert "the runs share no task, index and seed" in pair.notes[0]
    assert pair.better(0.05) == "a"
    (shifted,) = compare([made_up("a", GOOD), made_up("b", BAD, first_seed=1005)]).pairs
    assert "15 seeds are in both at different indices: give both runs the same --seed" in shifted.notes[0]
    (asked,) = compare([made_up("a", GOOD), made_up("b", BAD)], paired=False).pairs
    assert "as requested" in asked.notes[0]


def test_unpaired_tasks_weigh_the_same_in_both_runs() -> None:
    """A has many easy episodes, B many hard ones: their plain rates differ, though the policies do not."""
    hard = "metaworld/push-v3"
    a = joined("a", made_up("a", [True] * 40), made_up("a", [False] * 10, task=hard))
    b = joined("b", made_up("b", [True] * 10, 5000), made_up("b", [False] * 40, 5000, task=hard))
    (pair,) = compare([a, b]).pairs
    assert pair.overall.difference == 0
    assert (pair.unmatched_a, pair.unmatched_b) == (30, 30)
    assert "belong to tasks that the other run lacks, or has fewer episodes of" in " ".join(pair.notes)


def test_errors_are_left_out_and_shown_under_both_readings() -> None:
    (pair,) = compare([made_up("a", [True, True, None, False]), made_up("b", [False, True, True, None])]).pairs
    assert pair.overall.counts == PairedCounts(both=1, only_a=1)
    assert pair.errors is not None
    assert (pair.errors.errors_a, pair.errors.errors_b) == (1, 1)
    assert pair.errors.lowest == pytest.approx(2 / 4 - 3 / 4)
    assert pair.errors.highest == pytest.approx(3 / 4 - 2 / 4)


def test_an_error_of_all_is_no_difference() -> None:
    comparison = compare([made_up("a", [None, None]), made_up("b", [True, False])])
    (pair,) = comparison.pairs
    assert math.isnan(pair.overall.difference)
    assert pair.better(0.05) is None
    assert json.loads(json.dumps(comparison.to_json(), allow_nan=False))


def test_more_than_two_runs_get_letters_and_adjusted_p_values() -> None:
    comparison = compare([made_up("bad", BAD), made_up("good", GOOD), made_up("better", [True] * 20)])
    assert {entry.name: entry.letters for entry in comparison.entries} == {"bad": "b", "good": "a", "better": "a"}
    raw = sorted(pair.overall.p_value for pair in comparison.pairs)
    adjusted = sorted(pair.overall.p_adjusted or 0 for pair in comparison.pairs)
    assert adjusted[0] == pytest.approx(3 * raw[0])
    assert all(pair.method == "mcnemar" for pair in comparison.pairs)


def test_runs_without_a_common_task_are_refused() -> None:
    with pytest.raises(UsageError, match="have no task in common: metaworld/reach-v3"):
        compare([made_up("a", GOOD), made_up("b", GOOD, task="metaworld/push-v3")])


def seeds(method: str, *runs: Sequence[bool | None]) -> list[RunOutcomes]:
    return [
        made_up(f"{method}-{seed}", outcomes, method=method, training_seed=seed) for seed, outcomes in enumerate(runs)
    ]


def test_training_seeds_of_a_method_are_put_together() -> None:
    runs = [*seeds("act", GOOD, GOOD, [True] * 20), *seeds("diffusion", MIDDLE, BAD, [False] * 20)]
    comparison = compare(runs)
    assert [entry.name for entry in comparison.entries] == ["act (3 training seeds)", "diffusion (3 training seeds)"]
    act = comparison.entries[0]
    assert act.runs == ("act-0", "act-1", "act-2")
    assert act.seeds is not None
    assert (act.seeds.lowest, act.seeds.highest) == (0.9, 1.0)
    (pair,) = comparison.pairs
    assert pair.method == "training seeds"
    assert pair.better(0.05) == "act (3 training seeds)"


def test_seeds_that_vary_much_prove_less_than_their_episodes_do() -> None:
    """One seed against one is "better"; that does not make its method better."""
    runs = [*seeds("act", GOOD, BAD, GOOD), *seeds("diffusion", BAD, MIDDLE, BAD)]
    assert compare([runs[0], runs[3]]).pairs[0].better(0.05) == "act-0"
    assert compare(runs).pairs[0].better(0.05) is None


def test_a_single_seed_is_told_of() -> None:
    runs = [*seeds("act", GOOD, GOOD), made_up("checkpoint", BAD)]
    (pair,) = compare(runs).pairs
    assert "checkpoint is a single training seed" in " ".join(pair.notes)


def test_the_same_training_seed_twice_is_refused() -> None:
    twice = [*seeds("act", GOOD), *seeds("act", GOOD), made_up("b", BAD)]
    with pytest.raises(UsageError, match="both have method 'act' and training seed 0"):
        compare([replace(run, name=f"{run.name}{k}") for k, run in enumerate(twice)])
    with pytest.raises(UsageError, match="'act' and no training seed"):
        compare([made_up("a", GOOD, method="act"), made_up("b", BAD, method="act")])


def test_one_method_alone_shows_its_spread() -> None:
    comparison = compare(seeds("act", GOOD, BAD))
    assert not comparison.pairs
    assert not comparison.first_is_worse()
    (entry,) = comparison.entries
    assert entry.seeds is not None
    assert (entry.seeds.lowest, entry.seeds.highest) == (0.05, 0.9)


def test_what_a_method_leaves_out_is_told() -> None:
    runs = [*seeds("act", GOOD, GOOD), *seeds("diffusion", MIDDLE, [None] * 15 + MIDDLE[15:])]
    comparison = compare(runs)
    (pair,) = comparison.pairs
    assert pair.pairs == 5
    assert (pair.unmatched_a, pair.unmatched_b) == (30, 30)
    assert "ended in errors, or are not in all runs" in " ".join(pair.notes)
    second = comparison.entries[1]
    assert (second.counts.episodes, second.counts.errors) == (10, 15)
    assert second.counts.rate is not None
    assert second.counts.rate in second.interval
