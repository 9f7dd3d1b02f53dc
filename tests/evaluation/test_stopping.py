"""A run that may stop early: the same decision for any batch size, order of completion, crash or resume."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_world import ToyConfig

from tests.helpers import courses, journal_lines, start_yardarm, wait_until, yardarm
from yardarm.api import evaluate
from yardarm.comparison import EpisodeOutcome
from yardarm.engine.queue import Job, PlannedOrderQueue
from yardarm.errors import UsageError
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.stopping.order import planned_order
from yardarm.evaluation.stopping.rules import make_referee
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.report.stopping import stopping_lines
from yardarm.results import PairedEvidence, RateEvidence, RunResult, StoppingDeclaration, read_journal
from yardarm.tasks import EpisodeSpec


class Sometimes:
    """Solves a share of the episodes, by their seed: slowly where it fails, as policies do."""

    wants = ObservationSpec(inputs=("observation.state",))
    place = "host"
    quick = True

    def __init__(self, share: float) -> None:
        self.share = share
        self.id = f"sometimes-{share}"

    def start(self, episode: EpisodeSpec) -> bool:
        return bool(np.random.default_rng([episode.seed, 7]).random() < self.share)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        chunks = []
        for request in requests:
            position, goal = request.observation["observation.state"]
            chunks.append(ActionChunk(np.full((1, 1), np.sign(goal - position) if request.state else 0.0)))
        return chunks


TOY = ToyConfig(task="left,right", max_steps=14)
WORSE, BETTER = Sometimes(0.3), Sometimes(0.9)


def numbers(run: RunResult) -> Any:
    """All that must not depend on how a run went."""
    assert run.stopping is not None
    return replace(run.stopping, played=None), courses(run)


def pairs_of(run: RunResult) -> PairedEvidence:
    assert run.stopping is not None
    assert isinstance(run.stopping.evidence, PairedEvidence)
    return run.stopping.evidence


def duel(folder: Path, **options: Any) -> RunResult:
    settings: dict[str, Any] = {"n_episodes": 30, "stop": "decided", "against": WORSE, **options}
    return evaluate(BETTER, TOY, output_dir=folder, **settings)


def test_two_policies_are_told_apart_and_the_rest_is_saved(tmp_path: Path) -> None:
    run = duel(tmp_path / "run", batch_size=3)
    assert run.stopping is not None
    assert run.stopping.decision == "a"
    assert pairs_of(run).only_a > pairs_of(run).only_b
    assert run.stopping.released < run.stopping.maximum == 60
    assert len(run.episodes) == run.stopping.released, "what finished ahead of its turn does not count"
    other = json.loads((tmp_path / "run" / "against" / "eval_info.json").read_text())
    assert other["overall"]["n_episodes"] == run.stopping.released
    info = json.loads((tmp_path / "run" / "eval_info.json").read_text())["overall"]
    assert info["stopping"]["decision"] == "a"
    assert info["success_interval"]["method"] == "anytime"


def test_the_decision_does_not_depend_on_the_batch_size(tmp_path: Path) -> None:
    runs = [duel(tmp_path / str(size), batch_size=size) for size in (1, 2, 5)]
    assert numbers(runs[0]) == numbers(runs[1]) == numbers(runs[2])
    local = duel(tmp_path / "local", use_async_envs=False)
    assert numbers(local) == numbers(runs[0])


def test_a_stored_run_is_as_good_as_its_policy(tmp_path: Path) -> None:
    stored = evaluate(WORSE, TOY, n_episodes=30, output_dir=tmp_path / "stored")
    live, against_run = duel(tmp_path / "live"), duel(tmp_path / "run", against=stored)
    assert live.stopping is not None
    assert against_run.stopping is not None
    assert pairs_of(live) == pairs_of(against_run)
    for name in ("decision", "released", "dropped"):
        assert getattr(live.stopping, name) == getattr(against_run.stopping, name)
    assert not (tmp_path / "run" / "against").exists()


def test_what_is_said_to_be_saved_was_not_played(tmp_path: Path) -> None:
    run = duel(tmp_path / "run", batch_size=4)
    assert run.stopping is not None
    played = journal_lines(tmp_path / "run") + journal_lines(tmp_path / "run" / "against")
    assert run.stopping.played == played
    assert any(f"saved {120 - played} of 120 episodes" in line for line in stopping_lines(run.stopping))


def test_a_stored_run_that_changed_is_another_opponent(tmp_path: Path) -> None:
    stored = evaluate(WORSE, TOY, n_episodes=8, output_dir=tmp_path / "stored")
    duel(tmp_path / "run", against=stored, n_episodes=8)
    lines = (tmp_path / "stored" / "episodes.jsonl").read_text().splitlines()
    record = json.loads(lines[0])
    record["status"] = "failure" if record["status"] == "success" else "success"
    (tmp_path / "stored" / "episodes.jsonl").write_text("\n".join([json.dumps(record), *lines[1:]]) + "\n")
    with pytest.raises(UsageError, match="was started against a run that has other outcomes now"):
        duel(tmp_path / "run", against=stored, n_episodes=8)


def test_mistakes_about_the_opponent_say_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^against: the policy is for tasks with an expert of their own"):
        duel(tmp_path / "run", against="expert")
    far = evaluate(WORSE, ToyConfig(task="far", max_steps=3), n_episodes=1, output_dir=tmp_path / "far")
    with pytest.raises(UsageError, match="has none of these tasks: it has toy/far"):
        duel(tmp_path / "run", against=far, stop="")
    stored = evaluate(WORSE, TOY, n_episodes=1, output_dir=tmp_path / "stored")
    with pytest.raises(UsageError, match="a run cannot be compared with itself"):
        evaluate(WORSE, TOY, n_episodes=1, output_dir=stored.path, against=stored.path / "eval_info.json")


def test_equal_policies_spend_the_budget(tmp_path: Path) -> None:
    run = duel(tmp_path / "run", against=Sometimes(0.9), n_episodes=10)
    assert run.stopping is not None
    assert (run.stopping.decision, run.stopping.released) == ("budget", 20)


def test_precision_stops_when_the_rate_is_known_well_enough(tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_episodes": 60, "stop": "precision", "half_width": 0.2}
    runs = [evaluate(BETTER, TOY, output_dir=tmp_path / str(size), batch_size=size, **options) for size in (1, 4)]
    assert numbers(runs[0]) == numbers(runs[1])
    state = runs[0].stopping
    assert state is not None
    assert state.decision == "precise"
    assert isinstance(state.evidence, RateEvidence)
    low, high = state.evidence.interval
    assert (high - low) / 2 <= 0.2
    assert 0 < state.released < 120


@given(outcomes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40), random=st.randoms())
def test_the_order_of_hearing_changes_nothing(outcomes: list[tuple[bool, bool]], random: Any) -> None:
    plan = Plan("policy", ToyConfig(task="left").tasks(), len(outcomes), 1000)
    order = planned_order(plan)
    news = [(side, place) for place in range(len(order)) for side in (0, 1)]
    states = []
    for shuffled in (False, True):
        if shuffled:
            random.shuffle(news)
        referee = make_referee(StoppingDeclaration("decided", len(outcomes), 0.7, against="other"), order)
        for side, place in news:
            referee.hear(side, order[place], EpisodeOutcome(outcomes[place][side]))
        states.append((referee.released, referee.decision, referee.dropped, referee.evidence()))
    assert states[0] == states[1]


def test_nothing_is_judged_before_its_turn() -> None:
    order = planned_order(Plan("policy", ToyConfig(task="left").tasks(), 30, 1000))
    referee = make_referee(StoppingDeclaration("decided", 30, 0.95, against="other"), order)
    for episode in order[1:]:
        referee.hear(0, episode, EpisodeOutcome(True))
        referee.hear(1, episode, EpisodeOutcome(False))
    assert referee.released == 0
    assert referee.decision is None
    referee.hear(0, order[0], EpisodeOutcome(None))
    referee.hear(1, order[0], EpisodeOutcome(True))
    assert referee.decision == "a"
    assert referee.dropped == {"because of errors": 1}


def test_pairs_that_begin_differently_are_dropped() -> None:
    order = planned_order(Plan("policy", ToyConfig(task="left").tasks(), 2, 1000))
    referee = make_referee(StoppingDeclaration("decided", 2, 0.95, against="other"), order)
    for episode in order:
        referee.hear(0, episode, EpisodeOutcome(True, "one", lambda: np.zeros(3)))
        referee.hear(1, episode, EpisodeOutcome(False, "other", lambda: np.full(3, 0.01)))
    assert referee.dropped == {"because they begin in different states": 2}
    assert referee.evidence().to_json()["pairs"] == 0


def test_the_order_is_shuffled_over_tasks_and_the_same_for_a_seed() -> None:
    tasks = ToyConfig(task="left,right").tasks()
    order = planned_order(Plan("policy", tasks, 50, 1000))
    assert [episode.key() for episode in order] == [e.key() for e in planned_order(Plan("other", tasks, 50, 1000))]
    assert {episode.key() for episode in order} == {e.key() for e in Plan("policy", tasks, 50, 1000).episodes()}
    first = [episode.task.name for episode in order[:50]]
    assert 15 < first.count("left") < 35
    other = planned_order(Plan("policy", tasks, 50, 2000))
    assert [episode.index for episode in order] != [episode.index for episode in other]


def test_an_error_keeps_its_place_and_its_pair_is_dropped(tmp_path: Path) -> None:
    config = ToyConfig(task="left", max_steps=14, fault="raise", fault_at=0, fault_times=99, scratch=str(tmp_path))
    options: dict[str, Any] = {"n_episodes": 6, "stop": "decided", "against": WORSE, "max_retries": 1}
    run = evaluate(BETTER, config, output_dir=tmp_path / "run", **options)
    assert run.stopping is not None
    assert run.stopping.dropped == {"because of errors": 1}
    assert pairs_of(run).pairs == run.stopping.released - 1
    again = evaluate(BETTER, config, output_dir=tmp_path / "run", **options)
    assert numbers(again) == numbers(run), "a dropped pair stays dropped"


def test_the_maximum_cannot_be_raised_afterwards(tmp_path: Path) -> None:
    duel(tmp_path / "run", n_episodes=5)
    with pytest.raises(UsageError, match="fixed at the start, because changing the maximum or the rule"):
        duel(tmp_path / "run", n_episodes=50)
    with pytest.raises(UsageError, match="cannot be resumed with no early stopping"):
        duel(tmp_path / "run", n_episodes=5, stop="")
    evaluate(BETTER, TOY, n_episodes=2, output_dir=tmp_path / "plain")
    with pytest.raises(
        UsageError, match=r"was started with no early stopping, and cannot be resumed with stop=precision"
    ):
        evaluate(BETTER, TOY, n_episodes=2, stop="precision", output_dir=tmp_path / "plain")


def test_an_opponent_without_all_planned_episodes_is_refused(tmp_path: Path) -> None:
    stored = evaluate(WORSE, TOY, n_episodes=5, output_dir=tmp_path / "stored")
    with pytest.raises(
        UsageError, match=r"lacks 10 of the 20 planned episodes, e\.g\. episode 5 of 'left' with seed 1005"
    ):
        duel(tmp_path / "run", against=stored, n_episodes=10)
    assert not (tmp_path / "run").exists()


def test_without_a_rule_both_policies_play_everything(tmp_path: Path) -> None:
    run = duel(tmp_path / "run", stop="", n_episodes=4)
    assert run.stopping is None
    assert run.counts.episodes == 8
    assert len(list(read_journal(tmp_path / "run" / "against" / "episodes.jsonl"))) == 8
    alone = evaluate(WORSE, TOY, n_episodes=4, output_dir=tmp_path / "alone")
    assert courses(tmp_path / "run" / "against") == courses(alone)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_killed_duel_comes_to_the_same_decision(tmp_path: Path) -> None:
    words = ["eval", "--env.type=toy", "--env.max_steps=11", "--env.step_s=0.004", "--policy.type=toy-mover"]
    words += ["--against.type=toy-mover", "--against.chunk=11", "--eval.stop=decided", "--eval.n_episodes=15"]
    whole = yardarm(*words, f"--output_dir={tmp_path / 'whole'}")
    assert whole.returncode == 0, whole.stderr
    process = start_yardarm(*words, f"--output_dir={tmp_path / 'run'}")
    wait_until(lambda: journal_lines(tmp_path / "run" / "against") > 3)
    process.kill()
    process.communicate()
    resumed = yardarm(*words, f"--output_dir={tmp_path / 'run'}")
    assert resumed.returncode == 0, resumed.stderr
    states = [json.loads((tmp_path / name / "manifest.json").read_text())["stopping"] for name in ("whole", "run")]
    assert states[0] == states[1]
    assert states[0]["decision"] in ("a", "b", "budget")
    first = next(read_journal(tmp_path / "run" / "against" / "episodes.jsonl")).key
    replay = yardarm("replay", tmp_path / "run" / "against", f"--task={first.task}", f"--episode={first.index}")
    assert "matches all" in replay.stdout, replay.stderr


def test_a_worker_stays_with_its_task_only_for_a_few_places() -> None:
    left, right = ToyConfig(task="left,right").tasks()
    jobs = [Job(EpisodeSpec(right if index < 3 else left, index, index)) for index in range(8)]
    queue = PlannedOrderQueue(jobs, ahead=4)
    assert queue.take(left) is jobs[3]
    assert queue.take(left) is jobs[4]
    assert queue.take(right) is jobs[0]
    queue.put_back(jobs[3])
    assert [queue.take() for _ in range(3)] == [jobs[1], jobs[2], jobs[3]]
