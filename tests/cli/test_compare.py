"""``yardarm compare`` and ``yardarm plan``, as users type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.comparison.runs import written
from tests.helpers import yardarm
from yardarm.cli.commands import compare, plan
from yardarm.cli.sections import gather
from yardarm.errors import UsageError
from yardarm.evaluation import config_from_data

GOOD = [True] * 18 + [False] * 2
BAD = [False] * 18 + [True, False]


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    return [str(written(tmp_path / name, outcomes)) for name, outcomes in (("good", GOOD), ("bad", BAD))]


def test_a_table_and_a_verdict(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(runs) == 0
    text = capsys.readouterr().out
    assert "A  good  90.0%    18/20" in text
    assert "reach-v3  90.0%  5.0%  +85.0" in text
    assert "A is better than B: A − B = +85.0 points (95% interval +52.3 to +100.0), p < 0.0001" in text


def test_json_is_all_that_is_printed(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.run(["--json", *runs]) == 0
    content = json.loads(capsys.readouterr().out)
    (comparison,) = content["comparisons"]
    assert comparison["better"] == "good"
    assert comparison["overall"]["pairs"] == {
        **{"both": 0, "only_a": 18, "only_b": 1, "neither": 1, "total": 20},
        "correlation": pytest.approx(-0.6882, abs=1e-3),
    }
    assert [run["letters"] for run in content["runs"]] == ["a", "b"]


def test_the_first_run_is_the_candidate(runs: list[str], tmp_path: Path) -> None:
    good, bad = runs
    assert compare.run([good, bad, "--fail-if-worse"]) == 0
    assert compare.run([bad, good]) == 0
    assert compare.run(["--fail-if-worse", bad, good]) == 3
    similar = str(written(tmp_path / "similar", [*GOOD[1:], True]))
    assert compare.run([good, similar, "--fail-if-worse"]) == 0
    answer = yardarm("compare", bad, good, similar, "--fail_if_worse=true")
    assert answer.returncode == 3
    assert "Runs that share a letter do not differ significantly" in answer.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jsn"], "unknown option '--jsn'; did you mean 'json'?"),
        (["--confidence=95"], "--confidence must be at least 0.5 and below 1, got 95"),
        (["--lerobot.seed=x"], "--lerobot.seed must be a whole number, got 'x'"),
        (["--json=maybe"], "--json must be true or false, got 'maybe'"),
    ],
)
def test_mistakes_of_compare(words: list[str], message: str, runs: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        compare.run([*runs, *words])
    assert message in str(caught.value)


def test_one_run_is_not_enough(runs: list[str]) -> None:
    answer = yardarm("compare", runs[0])
    assert answer.returncode == 2
    assert answer.stderr == "yardarm: yardarm compare needs at least two runs, got 1; see `yardarm compare --help`\n"


def test_a_plan_for_a_gap(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan.run(["--baseline=.8", "--detect=.1", "--tasks=10"]) == 0
    text = capsys.readouterr().out
    assert "To detect the difference between 90.0% and 80.0% (0.8 power, 0.95 confidence), each policy needs" in text
    assert "different episodes  -            199       20" in text
    assert plan.run(["--baseline=.8", "--detect=.1", "--correlation=.5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows == [
        {"paired": True, "correlation": 0.5, "episodes": 114, "per_task": 114},
        {"paired": False, "correlation": None, "episodes": 199, "per_task": 199},
    ]


def test_a_plan_for_a_number_of_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan.run(["--baseline=0.8", "--episodes=50"]) == 0
    assert "same episodes       0.5          15.4 points*  19.5 points" in capsys.readouterr().out
    assert plan.run(["--baseline=1", "--episodes=50", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["better"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--detect=.1"], "--baseline is missing"),
        (["--baseline=.8"], "give either --detect=DIFFERENCE or --episodes=NUMBER"),
        (["--baseline=.8", "--detect=.1", "--episodes=5"], "give either --detect=DIFFERENCE or --episodes=NUMBER"),
        (["--baseline=80", "--detect=.1"], "--baseline must be between 0 and 1, got 80"),
        (["--baseline=.8", "--detect=.3"], "a rate of 1.1 is impossible"),
        (["--baseline=.8", "--detect=0"], "--detect=0: there is no difference to detect; give one like --detect=0.1"),
        (
            ["--baseline=.8", "--detect=.1", "--correlation=.9"],
            "is impossible for rates of 0.8 and 0.9: it is at most 0.66",
        ),
        (["--baseline=.8", "--episodes=few"], "--episodes must be a whole number, got 'few'"),
        (["--baseline=.8", "--episodes=0"], "--episodes must be between 1 and 1,000,000, got 0"),
        (["--baseline=.8", "--episodes=5", "--tasks=2"], "--tasks goes with --detect"),
        (["--baseline=.8", "--detect=.1", "--powr=.9"], "unknown option '--powr'; did you mean 'power'?"),
        (["fifty"], "takes flags only, not 'fifty'"),
    ],
)
def test_mistakes_of_plan(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan.run(words)
    assert message in str(caught.value)


def test_an_evaluation_against_a_policy_says_who_is_better() -> None:
    words = ["eval", "--policy.type=toy-mover", "--env.type=toy", "--env.max_steps=13", "--env.task=left"]
    against = ["--against=zero", "--eval.n_episodes=12", "--output_dir=run"]
    answer = yardarm(*words, *against, "--eval.stop=decided", "--method=mover", "--training_seed=3")
    assert answer.returncode == 0, answer.stderr
    assert "Decided: A is better than B. Only A solved" in answer.stdout
    assert "saved " in answer.stdout.rpartition("Decided after")[2]
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert (manifest["method"], manifest["training_seed"]) == ("mover", 3)
    assert manifest["stopping"]["decision"] == "a"
    again = yardarm("eval", "--config_path=run/config.yaml")
    assert "Decided: A is better than B" in again.stdout, again.stderr
    raised = yardarm("eval", "--config_path=run/config.yaml", "--eval.n_episodes=50")
    assert raised.returncode == 2
    assert "is fixed at the start" in raised.stderr


def test_an_evaluation_against_a_run_ends_with_the_comparison() -> None:
    words = ["eval", "--env.type=toy", "--env.max_steps=13", "--env.task=left", "--eval.n_episodes=12"]
    assert yardarm(*words, "--policy.type=zero", "--output_dir=zero").returncode == 0
    mover = [*words, "--policy.type=toy-mover", "--output_dir=run"]
    ambiguous = yardarm(*mover, "--against=zero")
    assert ambiguous.returncode == 2
    assert "say --against.type=zero, or --against=./zero" in ambiguous.stderr
    answer = yardarm(*mover, "--against=./zero")
    assert "A is better than B: A − B = +" in answer.stdout, answer.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--eval.stop=decided"], "needs an opponent: add --against=RUN_OR_POLICY"),
        (
            ["--eval.stop=decidd"],
            "--eval.stop 'decidd' is unknown; did you mean 'decided'? use one of decided, precision",
        ),
        (["--eval.stop=precision", "--against=zero"], "--eval.stop=precision is for one policy alone"),
        (["--eval.stop=precision", "--eval.half_width=5"], "--eval.half_width must lie between 0 and 0.5, got 5"),
        (["--eval.stop=precision", "--eval.interval=wilson"], "are for a fixed number"),
        (["--against=zeero"], "nor the name of a policy; did you mean 'zero'?"),
        (["--training_seed=1"], "--training_seed=1 belongs to a method: name it with --method"),
        (
            ["--eval.interval=anytime", "--eval.over_tasks=clustered"],
            "is for --eval.over_tasks=pooled, not for clustered",
        ),
        (["--eval.half_width=0.1"], "--eval.half_width=0.1 is for --eval.stop=precision"),
        (["--eval.interval=wald"], "--eval.interval 'wald' is unknown; use one of wilson, clopper_pearson, anytime"),
        (["--eval.confidence=95"], "--eval.confidence must lie between 0.5 and 1, got 95"),
    ],
)
def test_mistakes_of_eval(words: list[str], message: str) -> None:
    flags = dict(word[2:].split("=", 1) for word in ["--policy.type=zero", "--env.type=toy", *words])
    with pytest.raises(UsageError) as caught:
        config_from_data(gather(flags))
    assert message in str(caught.value)
