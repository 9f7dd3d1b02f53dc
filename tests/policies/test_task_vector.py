"""One policy for several tasks: it is told which one it does, in training and in use."""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.checkpoints import objective_of, small_act, small_diffusion
from tests.helpers import courses
from yardarm import load_policy
from yardarm.api import evaluate
from yardarm.errors import UsageError
from yardarm.policies import Look, Request
from yardarm.policies.conditioning import TASK_VECTOR, KnownTask, TaskVector, conditioned_features, make_task_vector
from yardarm.policies.learned.config import ENVIRONMENT_STATE, STATE, FeatureType, NormalizationMode, PolicyFeature
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.tuning import made_up
from yardarm.policies.processing import Normalize, instructions, unconditioned_features, with_task_vector
from yardarm.tasks import EpisodeSpec, TaskSpec
from yardarm.tasks.metaworld import MetaworldConfig

IMAGE = "observation.image"
MAKERS = {"act": small_act, "diffusion": small_diffusion}
FEATURES = {
    ENVIRONMENT_STATE: PolicyFeature(FeatureType.ENV, (39,)),
    STATE: PolicyFeature(FeatureType.STATE, (4,)),
    IMAGE: PolicyFeature(FeatureType.VISUAL, (3, 32, 32)),
}
REACH, PUSH, WALL = "Reach a goal position", "Push the puck to a goal", "Bypass a wall and reach a goal"


def task(name: str) -> TaskSpec:
    return MetaworldConfig(task=name).tasks()[0]


def told(kind: str, step: TaskVector, names: tuple[str, ...] = (ENVIRONMENT_STATE, STATE), **options: Any) -> Any:
    """A small policy of random weights that reads these inputs and is told its task."""
    inputs = conditioned_features({name: FEATURES[name] for name in names}, step.size)
    policy = MAKERS[kind](input_features=inputs, **options)
    policy.config.normalization_mapping["ENV"] = NormalizationMode.MEAN_STD
    config, scaled = policy.config, {"mean": torch.full((39,), 2.0), "std": torch.full((39,), 4.0)}
    known = policy.preprocessor.step(Normalize).statistics
    architecture = policy.architecture
    processing = with_task_vector(architecture.processing, config, {**known, ENVIRONMENT_STATE: scaled}, step)
    return architecture.policy(architecture, config, policy.network, processing)


def first_actions(policy: LearnedPolicy, *names: str) -> list[np.ndarray]:
    """What is played for the same observation in different tasks."""
    seen = {name: value[0] for name, value in made_up(policy.wants.shapes, policy.cameras, 1).items()}
    requests = []
    for name in names:
        episode = EpisodeSpec(task(name), 0, 1000)
        state = policy.start(episode)
        if hasattr(state, "generator"):
            state.generator = np.random.default_rng(0)  # the noise is the episode's; here it is the same for all
        requests.append(Request(episode, state, [Look(0, seen)]))
    return [chunk.actions for chunk in policy.infer(requests)]


def test_each_task_of_a_group_has_its_place() -> None:
    tasks = MetaworldConfig(task="mt10").tasks()
    step = make_task_vector("mt10", [each.instruction for each in tasks])
    assert np.array_equal([step.of(each) for each in tasks], np.eye(10))
    assert torch.equal(step.vectors([each.instruction for each in tasks]), torch.eye(10))
    assert step.vectors([REACH, PUSH, REACH]).argmax(1).tolist() == [0, 1, 0]


def test_the_places_of_a_datasets_own_tasks_are_in_its_order() -> None:
    step = make_task_vector("tasks", [PUSH, REACH, PUSH, "door-open-v3"])
    assert step.size == 3
    assert [step.of(task(name)).argmax() for name in ("push-v3", "reach-v3", "door-open-v3")] == [0, 1, 2]


def test_tasks_with_one_instruction_share_a_place(caplog: pytest.LogCaptureFixture) -> None:
    step = make_task_vector("mt50", [PUSH])
    assert "push-v3 and push-back-v3 have the same instruction" in caplog.text
    assert step.size == 50
    assert np.array_equal(step.of(task("push-back-v3")), step.of(task("push-v3")))
    assert torch.equal(step.vectors([PUSH])[0], torch.from_numpy(step.of(task("push-v3"))))


def test_a_task_that_shares_the_instruction_of_a_known_one_is_not_known() -> None:
    step = make_task_vector("mt10", [PUSH])
    with pytest.raises(
        UsageError, match=r"^the policy was not trained for 'push-back-v3' \(Push the puck.*it knows push-v3$"
    ):
        step.of(task("push-back-v3"))
    nameless = replace(task("push-back-v3"), name="")
    assert step.of(nameless).argmax() == 1, "somebody else's client may know the instruction only"


def test_a_place_without_training_is_no_knowledge_until_it_is_trained() -> None:
    step = make_task_vector("mt10", [PUSH])
    with pytest.raises(UsageError, match=r"not trained for 'reach-v3' \(Reach a goal position\); it knows push-v3$"):
        step.of(task("reach-v3"))
    assert step.knowing([REACH]).of(task("reach-v3")).argmax() == 0
    with pytest.raises(UsageError, match=f"no task of the policy has the instruction '{WALL}'"):
        step.knowing([WALL])


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(UsageError, match=f"no task of mt10 has the dataset's instruction '{WALL}'; take .*=tasks"):
        make_task_vector("mt10", [REACH, WALL])
    with pytest.raises(UsageError, match=r"--task_vector 'mt1' is unknown; did you mean 'mt10'\?"):
        make_task_vector("mt1", [REACH])
    with pytest.raises(UsageError, match="the dataset has no instructions"):
        make_task_vector("text", [])


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("names", [(ENVIRONMENT_STATE, STATE), (STATE,), (IMAGE,), (ENVIRONMENT_STATE, IMAGE)])
def test_actions_follow_the_task(kind: str, names: tuple[str, ...]) -> None:
    policy = told(kind, make_task_vector("mt10", [REACH, PUSH]), names)
    assert policy.wants.inputs == names, "no environment is asked for the vector"
    assert policy.wants.shapes.get(ENVIRONMENT_STATE, (39,)) == (39,)
    reach, push, again = first_actions(policy, "reach-v3", "push-v3", "reach-v3")
    assert np.array_equal(reach, again)
    assert np.abs(reach - push).max() > 1e-6
    assert policy.choose_batching(2).rows is not None


def test_a_policy_that_sees_nothing_is_still_told_its_task() -> None:
    policy = told("diffusion", make_task_vector("tasks", [REACH, PUSH]), ())
    reach, push = first_actions(policy, "reach-v3", "push-v3")
    assert not np.array_equal(reach, push)


@pytest.mark.parametrize("steps", [None, 2])
def test_the_vector_is_appended_after_normalising(steps: int | None) -> None:
    step = make_task_vector("tasks", [REACH, PUSH])
    policy = told("act", step)
    window = (2,) if steps is None else (2, steps)
    seen = {ENVIRONMENT_STATE: torch.full((*window, 39), 6.0), STATE: torch.zeros(*window, 4)}
    read = policy.preprocessor({**seen, TASK_VECTOR: step.vectors([PUSH, REACH])})
    assert set(read) == {ENVIRONMENT_STATE, STATE}
    assert torch.allclose(read[ENVIRONMENT_STATE][..., :39], torch.ones(*window, 39))
    flags = read[ENVIRONMENT_STATE][..., 39:].reshape(2, -1, 2)
    assert (flags == torch.tensor([[[0.0, 1.0]], [[1.0, 0.0]]])).all()


@pytest.mark.parametrize(
    ("kind", "names", "window"),
    [
        ("act", (ENVIRONMENT_STATE, STATE), ()),
        ("act", (IMAGE,), ()),
        ("diffusion", (ENVIRONMENT_STATE, STATE), (2,)),
        ("diffusion", (STATE, IMAGE), (2,)),
        ("diffusion", (IMAGE,), (2,)),
        ("diffusion", (IMAGE,), ()),  # a window of one frame, as datasets give it
    ],
)
def test_a_batch_of_training_is_told_its_tasks(kind: str, names: tuple[str, ...], window: tuple[int, ...]) -> None:
    step = make_task_vector("tasks", [REACH, PUSH])
    options = {"n_obs_steps": window[0] if window else 1} if kind == "diffusion" else {}
    policy = told(kind, step, names, **options)
    batch = {name: torch.rand(3, *window, *FEATURES[name].shape) for name in names}
    batch["action"] = torch.rand(3, len(policy.config.action_offsets), 4)
    batch["action_is_pad"] = torch.zeros(batch["action"].shape[:2], dtype=torch.bool)
    batch[TASK_VECTOR] = step.vectors([REACH, PUSH, PUSH])
    objective = objective_of(policy).train()
    objective(policy.preprocessor(batch))["loss"].backward()
    gradients = [parameter.grad for parameter in policy.network.parameters() if parameter.grad is not None]
    assert gradients
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("conditioning", ["mt10", "tasks", "text"])
def test_a_checkpoint_keeps_what_its_policy_is_told(kind: str, conditioning: str, tmp_path: Path) -> None:
    policy = told(kind, make_task_vector(conditioning, [REACH, PUSH]))
    policy.save_pretrained(tmp_path)
    loaded = load_policy(tmp_path)
    assert loaded.id == policy.id
    assert loaded.wants == policy.wants
    names = ("push-v3", "reach-v3")
    # Weights that come from a file lie elsewhere in memory, which changes the last bits.
    np.testing.assert_allclose(first_actions(loaded, *names), first_actions(policy, *names), atol=1e-4)
    stored = json.loads((tmp_path / "policy_preprocessor.json").read_text())["steps"][-1]
    assert stored["registry_name"] == "yardarm_task_vector"
    assert stored["config"]["size"] == {"mt10": 10, "tasks": 2, "text": 256}[conditioning]
    assert ("state_file" in stored) == (conditioning == "text")


def test_the_order_of_tasks_is_part_of_what_a_policy_is() -> None:
    one, other = (told("act", make_task_vector("tasks", order)) for order in ([REACH, PUSH], [PUSH, REACH]))
    assert one.id != other.id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "two_hot"}, "kind 'two_hot' is unknown"),
        ({"size": 3}, r"2 tasks do not fit vectors of the shape \(2, 2\)"),
        ({"tasks": []}, "must know at least one"),
        ({"tasks": [{"task": "reach-v3"}]}, "its steps cannot be read: TypeError"),
    ],
)
def test_a_damaged_step_is_told_in_one_line(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    told("act", make_task_vector("tasks", [REACH, PUSH])).save_pretrained(tmp_path)
    file = tmp_path / "policy_preprocessor.json"
    data = json.loads(file.read_text())
    data["steps"][-1]["config"].update(change)
    file.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=f"policy_preprocessor.json: .*{message}"):
        load_policy(tmp_path)


def test_inputs_that_have_no_room_for_the_vector_are_refused() -> None:
    with pytest.raises(UsageError, match=r"vector has 50 numbers, but 'observation.environment_state' .* 39"):
        unconditioned_features(FEATURES, 50)
    with pytest.raises(UsageError, match=r"vector has 2 numbers, but 'observation.environment_state' .* 0"):
        unconditioned_features({STATE: FEATURES[STATE]}, 2)


def test_an_unknown_task_is_refused_before_anything_starts(tmp_path: Path) -> None:
    policy = told("act", make_task_vector("mt10", [REACH, PUSH]))
    with pytest.raises(
        UsageError, match=r"not trained for 'drawer-open-v3' \(Open a drawer\); it knows reach-v3, push-v3"
    ):
        evaluate(policy, MetaworldConfig(task="reach-v3,drawer-open-v3"), n_episodes=1, output_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="not trained for 'drawer-open-v3'"):
        policy.start(EpisodeSpec(task("drawer-open-v3"), 0, 1000))  # a server does not know of tasks before


def test_an_evaluation_of_two_tasks_does_not_depend_on_who_shares_a_batch(tmp_path: Path) -> None:
    policy = told("act", make_task_vector("mt10", [REACH, PUSH]), n_action_steps=2)
    env = MetaworldConfig(task="reach-v3,push-v3", episode_length=6)
    alone, together = (
        courses(evaluate(policy, env, n_episodes=2, batch_size=size, output_dir=tmp_path / str(size)))
        for size in (1, 2)
    )
    assert len(alone) == 4
    assert alone == together


def test_instructions_are_encoded_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("something went to the network")

    monkeypatch.setattr(socket, "socket", refused)
    instructions._words.cache_clear()
    step = make_task_vector("text", [REACH, PUSH])
    assert step.size == 256
    assert torch.equal(step.vectors([PUSH, REACH])[1], step.vectors([REACH])[0])
    assert np.array_equal(step.of(task("push-v3")), step.of(task("push-back-v3"))), "they have one instruction"
    assert step.of(task("door-open-v3")).shape == (256,), "another instruction is no hindrance"
    assert "wordllama" not in sys.modules, "it would change the logging of the process"


def test_vectors_of_instructions_are_the_packages_own() -> None:
    import wordllama

    # Its loader looks for the tokenizer in the wrong folder; as a cache, the package's own folder is right.
    folder = Path(wordllama.__file__).parent
    theirs = wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed([REACH, PUSH, WALL])
    np.testing.assert_allclose(make_task_vector("text", [REACH, PUSH, WALL]).table, theirs, atol=1e-6)


def test_trained_instructions_need_no_package_and_others_say_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told("act", make_task_vector("text", [REACH, PUSH])).save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    instructions._words.cache_clear()
    policy = load_policy(tmp_path)
    reach, push = first_actions(policy, "reach-v3", "push-v3")
    assert not np.array_equal(reach, push)
    with pytest.raises(UsageError, match=r"pip install 'yardarm\[text\]'$"):
        policy.prepare([task("door-open-v3")])


def test_another_encoder_than_that_of_training_is_noticed() -> None:
    step = make_task_vector("text", [REACH])
    with pytest.raises(UsageError, match="differs from the one that the policy was trained with"):
        replace(step, table=step.table + 0.1).vectors([PUSH])
    with pytest.raises(UsageError, match="the encoder of instructions 'mine' is unknown here"):
        replace(step, encoder="mine").vectors([PUSH])
    with pytest.raises(UsageError, match="reads instructions, but the task has none"):
        step.of(replace(task("reach-v3"), name="", instruction=""))


def test_more_instructions_can_be_learned_later() -> None:
    step = make_task_vector("text", [REACH]).knowing([PUSH, REACH])
    assert [known.instruction for known in step.tasks] == [REACH, PUSH]
    assert torch.equal(step.table, make_task_vector("text", [REACH, PUSH]).table)


def test_places_can_be_given_to_any_tasks() -> None:
    step = TaskVector.one_hot([KnownTask("Open it", "door"), KnownTask("Open it", "drawer")])
    assert step.size == 2
    door = replace(task("reach-v3"), name="door", instruction="Pull it open")
    assert step.of(door).argmax() == 0
