"""Several policies in one evaluation: each plays as it does alone, and one that fails takes nobody with it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from toy_world import MoverPolicy, ToyConfig

from tests.checkpoints import small_act
from tests.helpers import courses, journal_lines, start_yardarm, wait_until, yardarm_here
from yardarm.api import evaluate
from yardarm.api import evaluate_several as evaluate_several_from_python
from yardarm.errors import UsageError
from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener, config_from_data, evaluate_several
from yardarm.evaluation.lineup import Lineup, open_lineup
from yardarm.policies import ActionChunk, Policy, PolicySpec, Request
from yardarm.results import SeveralFolder, read_result
from yardarm.tasks.metaworld import MetaworldConfig

TOY = ["--env.type=toy", "--env.task=left,right", "--eval.n_episodes=4"]


class Speedy(MoverPolicy):
    """A mover of its own pace."""

    place = "host"

    def __init__(self, pace: float) -> None:
        super().__init__()
        self.pace = pace
        self.id = f"speedy-{pace}"
        self.name = f"speedy_{pace}"

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        return [ActionChunk(self.pace * chunk.actions, chunk.looks) for chunk in super().infer(requests)]


class Broken(Speedy):
    """Raises in the middle of its second task."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        if any(request.episode.task.name == "right" and request.episode.index == 2 for request in requests):
            raise RuntimeError("the weights are rotten")
        return super().infer(requests)


def several(policies: Sequence[Policy | PolicySpec], folder: Path, **options: int) -> EvalConfig:
    env = ToyConfig(task="left,right", max_steps=30)
    return EvalConfig(env, list(policies), EvalOptions(n_episodes=4, **options), output_dir=folder)


@pytest.mark.parametrize("at_once", [pytest.param(1, marks=pytest.mark.slow), 2, 0])
def test_each_policy_plays_as_it_does_alone(at_once: int, tmp_path: Path) -> None:
    policies = [Speedy(0.5), Speedy(1.0), PolicySpec("toy_world:MoverPolicy")]
    results = evaluate_several(several(policies, tmp_path / "all", policies_at_once=at_once, batch_size=3))
    assert list(results.runs) == ["speedy_0.5", "speedy_1.0", "MoverPolicy"]
    for policy, run in zip(policies, results.runs.values(), strict=True):
        alone = evaluate(policy, ToyConfig(task="left,right", max_steps=30), n_episodes=4)
        assert courses(run) == courses(alone)
        assert read_result(SeveralFolder(tmp_path / "all").run(run.path.name)).is_finished


def test_a_policy_that_fails_takes_nobody_with_it(tmp_path: Path) -> None:
    policies = [Speedy(0.5), Broken(0.7), Speedy(1.0)]
    results = evaluate_several(several(policies, tmp_path / "all"))
    assert list(results.faults) == ["speedy_0.7"]
    assert "the weights are rotten" in results.faults["speedy_0.7"]
    finished = {name: len(run.episodes) for name, run in results.runs.items()}
    assert finished["speedy_0.5"] == finished["speedy_1.0"] == 8
    assert finished["speedy_0.7"] < 8
    assert not read_result(SeveralFolder(tmp_path / "all").run("speedy_0.7")).is_finished
    # Mended, it goes on where it stopped.
    again = evaluate_several(several([Speedy(0.5), Speedy(0.7), Speedy(1.0)], tmp_path / "all"))
    assert not again.faults
    assert [len(run.episodes) for run in again.runs.values()] == [8, 8, 8]


def test_a_list_may_grow_and_keeps_what_was_played(tmp_path: Path) -> None:
    first = evaluate_several(several([Speedy(0.5)], tmp_path / "all"))
    heard = Hears()
    both = evaluate_several(several([Speedy(1.0), Speedy(0.5)], tmp_path / "all"), heard)
    assert heard.missing == 8, "only the new one plays"
    assert courses(both.runs["speedy_0.5"]) == courses(first.runs["speedy_0.5"])
    assert [own.name for own in SeveralFolder(tmp_path / "all").read_policies()] == ["speedy_0.5", "speedy_1.0"]
    assert (tmp_path / "all" / "report.html").is_file()


def test_functions_can_be_evaluated_together_from_python(tmp_path: Path) -> None:
    def left(observations: dict[str, np.ndarray]) -> np.ndarray:
        return np.full((len(observations["observation.state"]), 1), -1.0)

    results = evaluate_several_from_python(
        [left, "toy_world:MoverPolicy"], ToyConfig(task="left,right"), n_episodes=2, output_dir=tmp_path / "all"
    )
    assert [run.counts.successes for run in results.runs.values()] == [2, 4]


class Hears(EvaluationListener):
    """Keeps how much there was to play."""

    missing = -1

    def started(self, path: Path, plans: Sequence[object], missing: int, workers: int) -> None:
        self.missing = missing


def test_the_same_policy_twice_is_evaluated_once_and_said(tmp_path: Path) -> None:
    results = evaluate_several(several([Speedy(0.5), Speedy(0.5)], tmp_path / "all"))
    assert list(results.runs) == ["speedy_0.5"]
    assert results.notes == ("speedy_0.5-2 is the same policy as speedy_0.5, and is evaluated once",)


def test_folders_of_one_and_of_several_are_not_mixed(tmp_path: Path) -> None:
    evaluate_several(several([Speedy(0.5)], tmp_path / "all"))
    with pytest.raises(UsageError, match="holds an evaluation of several policies"):
        evaluate(Speedy(0.5), ToyConfig(task="left,right", max_steps=30), n_episodes=4, output_dir=tmp_path / "all")
    evaluate(Speedy(0.5), ToyConfig(task="left"), n_episodes=1, output_dir=tmp_path / "one")
    with pytest.raises(UsageError, match="holds the run of one policy"):
        evaluate_several(several([Speedy(0.5)], tmp_path / "one"))
    other = EvalConfig(ToyConfig(task="far"), [Speedy(0.5)], EvalOptions(n_episodes=1), output_dir=tmp_path / "all")
    with pytest.raises(
        UsageError, match="holds another evaluation: tasks were left/left, right/right, are now far/far"
    ):
        evaluate_several(other)


def checkpoints(folder: Path, count: int) -> Path:
    """Small policies that differ in their weights alone, laid out as training does it."""
    policy = small_act(image=None, n_action_steps=5)
    for step in range(1, count + 1):
        with_step = policy.network.action_head.bias
        with_step.data.add_(0.1)
        policy.save_pretrained(folder / f"{step:06d}" / "pretrained_model")
    (folder / "last").symlink_to(f"{count:06d}")
    return folder


def trained(folder: Path, *names: str) -> list[PolicySpec]:
    return [PolicySpec("pretrained", {"path": str(folder / name / "pretrained_model")}) for name in names]


@pytest.mark.slow
def test_checkpoints_that_do_not_fit_into_memory_are_loaded_when_their_turn_comes(tmp_path: Path) -> None:
    folder = checkpoints(tmp_path / "checkpoints", 3)
    env = MetaworldConfig(task="reach-v3,push-v3", episode_length=15)
    specs = trained(folder, "000001", "000002", "000003")
    results = {}
    for name, at_once in (("tight", 1), ("roomy", 0)):
        options = EvalOptions(n_episodes=2, policies_at_once=at_once)
        results[name] = evaluate_several(EvalConfig(env, specs, options, output_dir=tmp_path / name))
    for name in ("000001", "000002", "000003"):
        assert courses(results["tight"].runs[name]) == courses(results["roomy"].runs[name])
    actions = {name: _actions(tmp_path / "tight" / "policies" / name) for name in results["tight"].runs}
    assert not np.array_equal(actions["000001"], actions["000002"])


def _actions(run: Path) -> np.ndarray:
    return np.load(run / "actions" / "metaworld" / "reach-v3" / "00000.npz")["actions"]


def test_a_checkpoint_that_changes_while_it_waits_for_its_turn_is_not_played(tmp_path: Path) -> None:
    folder = checkpoints(tmp_path / "checkpoints", 2)
    specs = trained(folder, "000001", "000002")

    class Meddles(EvaluationListener):
        def started(self, *_: object) -> None:
            shutil.copy(
                folder / "000001" / "pretrained_model" / "model.safetensors", folder / "000002" / "pretrained_model"
            )

    env = MetaworldConfig(task="reach-v3", episode_length=15)
    options = EvalOptions(n_episodes=2, policies_at_once=1)
    results = evaluate_several(EvalConfig(env, specs, options, output_dir=tmp_path / "all"), Meddles())
    assert "has changed since the evaluation started" in results.faults["000002"]
    assert len(results.runs["000001"].episodes) == 2


def test_a_folder_of_checkpoints_means_all_of_them_but_links(tmp_path: Path) -> None:
    folder = checkpoints(tmp_path / "train" / "checkpoints", 2)
    env = {"type": "toy"}
    listed = config_from_data({"policy": {"path": str(folder), "device": "cpu"}, "env": env})
    assert [Path(policy.options["path"]).parent.name for policy in listed.policies] == ["000001", "000002"]
    assert all(policy.options["device"] == "cpu" for policy in listed.policies)
    one = folder / "000001" / "pretrained_model"
    assert not config_from_data({"policy": {"path": str(one)}, "env": env}).several
    assert not config_from_data({"policy": {"path": str(folder / "last")}, "env": env}).several
    both = config_from_data({"policy": {"path": f"{one},{folder / '000002' / 'pretrained_model'}"}, "env": env})
    assert both.policies == tuple(
        PolicySpec("pretrained", {"path": policy.options["path"]}) for policy in listed.policies
    )
    trainings = config_from_data({"policy": {"path": str(tmp_path)}, "env": env})
    assert [policy.options["path"] for policy in trainings.policies] == [
        str(tmp_path / "train" / "checkpoints" / "last" / "pretrained_model")
    ]
    mixed = config_from_data({"policy": ["expert", {"path": str(one), "device": "cpu"}], "env": env})
    assert [policy.type for policy in mixed.policies] == ["expert", "pretrained"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy.path=nowhere,elsewhere"], "nowhere: --policy.path=nowhere: there is no such folder"),
        (["--policy.path=a/b,c/d", "--against=expert"], "--against is not for a list of policies"),
        (["--policy.path=a/b,c/d", "--eval.stop=precision"], "--eval.stop is not for a list of policies"),
        (["--policy.path=a/b,c/d", "--eval.policies_at_once=-1"], "--eval.policies_at_once must not be negative"),
    ],
)
def test_a_mistake_has_one_line_and_code_2(words: list[str], message: str) -> None:
    answer = yardarm_here("eval", *TOY, *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_command_line_compares_all_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    config = {"policy": ["toy_world:MoverPolicy", "zero"], "env": {"type": "toy", "step_s": 0.02, "task": "left,right"}}
    (tmp_path / "list.json").write_text(json.dumps(config))
    words = ["eval", "--config_path=list.json", "--trust_remote_code=true", "--eval.n_episodes=4", "--output_dir=all"]
    process = start_yardarm(*words)
    runs = [tmp_path / "all" / "policies" / name for name in ("MoverPolicy", "zero")]
    wait_until(lambda: sum(map(journal_lines, runs)) >= 2)
    process.kill()
    process.communicate()
    assert sum(map(journal_lines, runs)) < 16, "it was killed too late"
    again = yardarm_here(*words)
    assert again.returncode == 0, again.stderr
    assert "A  MoverPolicy  100.0%   8/8" in again.stdout
    assert "B  zero         0.0%     0/8" in again.stdout
    assert [journal_lines(run) for run in runs] == [8, 8]
    compared = yardarm_here("compare", "all")
    assert "A is better than B" in compared.stdout
    (tmp_path / "all" / "report.html").unlink()
    assert yardarm_here("report", "all").returncode == 0
    assert (tmp_path / "all" / "report.html").is_file()
    same = yardarm_here("eval", "--config_path=all/config.yaml", "--trust_remote_code=true")
    assert "16 of them already finished" in same.stdout


def test_shards_of_a_list_merge_into_the_whole_evaluation(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(
        json.dumps(
            {"policy": ["toy_world:MoverPolicy", "zero", "random"], "env": {"type": "toy", "task": "left,right"}}
        )
    )
    words = ["eval", "--config_path=list.json", "--trust_remote_code=true", "--eval.n_episodes=3"]
    assert yardarm_here(*words, "--output_dir=whole").returncode == 0
    for number in (1, 2):
        answer = yardarm_here(*words, "--output_dir=parts", f"--shard={number}/2")
        assert answer.returncode == 0, answer.stderr
    # Each part has loaded and played a policy and a half.
    first = SeveralFolder(tmp_path / "parts" / "shard_1_of_2")
    assert [own.name for own in first.read_policies()] == ["MoverPolicy", "zero"]
    merged = yardarm_here("merge", "parts")
    assert merged.returncode == 0, merged.stderr
    whole, parts = SeveralFolder(tmp_path / "whole"), SeveralFolder(tmp_path / "parts")
    assert parts.read_policies() == whole.read_policies()
    assert parts.read_plan() == whole.read_plan()
    for own in whole.read_policies():
        assert courses(parts.run(own.name).path) == courses(whole.run(own.name).path)
    assert (tmp_path / "parts" / "report.html").is_file()
    more = yardarm_here("eval", "--config_path=parts/config.yaml", "--trust_remote_code=true", "--eval.n_episodes=4")
    assert more.returncode == 0, more.stderr
    assert "24 episodes, 18 of them already finished" in more.stdout


def listed(folder: str, *policies: object, words: Sequence[str] = ()) -> None:
    """Evaluate a list by the command line."""
    Path("list.json").write_text(json.dumps({"policy": policies, "env": {"type": "toy", "task": "left"}}))
    answer = yardarm_here(
        "eval",
        "--config_path=list.json",
        "--trust_remote_code=true",
        "--eval.n_episodes=2",
        f"--output_dir={folder}",
        *words,
    )
    assert answer.returncode == 0, answer.stderr


def test_a_shard_that_nobody_played_is_missed(tmp_path: Path) -> None:
    listed("parts", "toy_world:MoverPolicy", "zero", words=["--shard=1/2"])
    merged = yardarm_here("merge", "parts")
    assert merged.returncode == 1
    assert "shard 2/2 is missing, and so are the episodes that only it played" in merged.stderr
    one = "parts/shard_1_of_2/policies/MoverPolicy/config.yaml"
    alone = yardarm_here("eval", f"--config_path={one}", "--trust_remote_code=true")
    assert alone.returncode == 2
    assert "resume all of them with --config_path=" in alone.stderr


def test_merged_policies_keep_the_names_of_the_list_that_they_join(tmp_path: Path) -> None:
    listed("big", "toy_world:MoverPolicy", words=["--eval.batch_size=1"])
    listed("small", {"type": "toy_world:MoverPolicy", "chunk": 2}, words=["--seed=1000"])
    assert yardarm_here("merge", "small", "--output_dir=big").returncode == 0
    big = SeveralFolder(tmp_path / "big")
    assert [own.name for own in big.read_policies()] == ["MoverPolicy", "MoverPolicy-2"]
    assert len(big.begun()) == 2


def test_runs_of_one_and_of_several_are_not_merged(tmp_path: Path) -> None:
    listed("list", "toy_world:MoverPolicy")
    one = ["eval", "--policy.type=zero", "--env.type=toy", "--env.task=left", "--eval.n_episodes=2"]
    assert yardarm_here(*one, "--output_dir=one").returncode == 0
    for words, message in (
        (["one", "list", "--output_dir=both"], "merge each kind separately"),
        (["one", "--output_dir=list"], "holds an evaluation of several policies"),
        (["list", "--output_dir=one"], "holds the run of one policy"),
    ):
        answer = yardarm_here("merge", *words)
        assert answer.returncode == 2
        assert message in answer.stderr
    assert not (tmp_path / "both").exists()


def test_a_damaged_list_is_named_before_anything_is_written(tmp_path: Path) -> None:
    listed("parts", "toy_world:MoverPolicy", words=["--shard=1/1"])
    (tmp_path / "parts" / "shard_1_of_1" / "evaluation.json").write_text("{")
    answer = yardarm_here("merge", "parts")
    assert answer.returncode == 2
    assert "evaluation.json is damaged" in answer.stderr
    assert not (tmp_path / "parts" / "policies").exists()


def test_policies_that_all_fail_are_told_of_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken.py").write_text(
        "from toy_world import MoverPolicy\n"
        "class Broken(MoverPolicy):\n    def infer(self, requests):\n        raise RuntimeError('rotten')\n"
    )
    (tmp_path / "list.json").write_text(json.dumps({"policy": ["broken:Broken"], "env": {"type": "toy"}}))
    answer = yardarm_here("eval", "--config_path=list.json", "--trust_remote_code=true", "--output_dir=all")
    assert answer.returncode == 1
    assert "Broken failed: the policy raised RuntimeError: rotten; its finished" in answer.stderr


def test_weights_that_wait_for_their_turn_are_gone_when_play_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints(tmp_path / "checkpoints", 2)
    lineups: list[Lineup] = []

    @contextlib.contextmanager
    def noting(*arguments: Any) -> Iterator[Lineup]:
        with open_lineup(*arguments) as lineup:
            lineups.append(lineup)
            yield lineup

    class Counts(EvaluationListener):
        loaded: ClassVar[list[bool]] = []

        def started(self, *_: object) -> None:
            self.loaded.extend(not own.policy.released for own in lineups[0].policies.values())

    monkeypatch.setattr("yardarm.evaluation.several.open_lineup", noting)
    # Another architecture each, so that each is tried by itself.
    specs = [
        PolicySpec("pretrained", {**own.options, "n_action_steps": steps})
        for own, steps in zip(trained(tmp_path / "checkpoints", "000001", "000002"), (2, 3), strict=True)
    ]
    env = MetaworldConfig(task="reach-v3", episode_length=5)
    options = EvalOptions(n_episodes=1, policies_at_once=1)
    evaluate_several(EvalConfig(env, specs, options, output_dir=tmp_path / "all"), Counts())
    assert Counts.loaded == [True, False]


def test_an_empty_path_is_no_folder_of_checkpoints(tmp_path: Path) -> None:
    checkpoints(tmp_path, 2)
    answer = yardarm_here("eval", *TOY, "--policy.path=")
    assert answer.returncode == 2
    assert "--policy.path is empty" in answer.stderr
