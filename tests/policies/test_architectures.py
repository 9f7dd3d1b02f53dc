"""An architecture is one bundle; text is an input like any other; steps may bring files of their own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch
from torch import Tensor
from toy_world import ToyConfig

import yardarm
from tests.policies.tiny import GUIDE, NAME, TINY, WORDS, tiny
from yardarm import load_policy
from yardarm.api import evaluate
from yardarm.errors import UsageError
from yardarm.evaluation import check_policy_fits
from yardarm.policies import ARCHITECTURES, Look, ObservationSpec, PolicySpec, Request, Traits, open_policy
from yardarm.policies.learned.architecture import Architecture, find_architecture
from yardarm.policies.networks.tensors import as_tensor, image_tensor
from yardarm.policies.processing import (
    PROCESSOR_STEPS,
    Batch,
    Pipeline,
    Processing,
    ProcessorStep,
    ToDevice,
    default_processing,
)
from yardarm.serving.backend import PolicyBackend
from yardarm.tasks import EpisodeSpec

TYPE = f"{NAME}:TINY"
TASKS = ToyConfig(task="left,right").tasks()
SOURCE = Path(yardarm.__file__).parent


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an installed package would register it."""
    entry = EntryPoint("tiny", TYPE, "yardarm.architectures")
    monkeypatch.setattr(ARCHITECTURES, "_plugins", {"tiny": entry})


def requests(policy: Any, count: int = 2) -> list[Request]:
    episodes = [EpisodeSpec(task, 0, 1000) for task in TASKS[:count]]
    look = Look(0, {"observation.state": np.zeros(2, np.float32)})
    return [Request(episode, policy.start(episode), [look]) for episode in episodes]


def test_a_bundle_is_found_by_its_name_or_its_module(registered: None) -> None:
    assert find_architecture("tiny") is find_architecture(TYPE) is TINY
    assert find_architecture("act").name == "act"
    installed = "act, diffusion, pi0, pi05, smolvla, tiny"
    with pytest.raises(UsageError, match=rf"architecture 'tyny'; did you mean 'tiny'\? Installed: {installed}"):
        find_architecture("tyny")
    with pytest.raises(UsageError, match=f"'{NAME}:WORDS' is a str, not an Architecture"):
        find_architecture(f"{NAME}:WORDS")


@pytest.mark.usefixtures("registered")
def test_a_registered_architectures_checkpoint_needs_no_type(tmp_path: Path) -> None:
    policy = tiny()
    policy.save_pretrained(tmp_path / "tiny")
    loaded = load_policy(tmp_path / "tiny", device="cpu")
    assert (type(loaded), loaded.architecture, loaded.id) == (type(policy), TINY, policy.id)
    assert np.array_equal(loaded.predict(TINY.example(loaded, 3)), policy.predict(TINY.example(policy, 3)))


def test_a_module_is_run_for_a_checkpoint_only_if_it_is_typed(tmp_path: Path) -> None:
    tiny().save_pretrained(tmp_path / "tiny")
    assert load_policy(tmp_path / "tiny", type=TYPE, device="cpu").architecture is TINY
    with pytest.raises(
        UsageError,
        match=r"of type 'tiny', which is not installed here; there are act, diffusion, pi0, .*; .*MODULE:NAME",
    ):
        load_policy(tmp_path / "tiny")
    config = json.loads((tmp_path / "tiny" / "config.json").read_text())
    (tmp_path / "tiny" / "config.json").write_text(json.dumps({**config, "type": TYPE}))
    with pytest.raises(UsageError, match=f"of type '{TYPE}', which is not installed here"):
        load_policy(tmp_path / "tiny")
    with pytest.raises(UsageError, match=f"--policy.type={TYPE}: its name is 'tiny', but .* is of type '{TYPE}'"):
        load_policy(tmp_path / "tiny", type=TYPE)


def test_nobody_but_the_registry_knows_an_architecture_by_name() -> None:
    own = {"policies/loading.py", "policies/shipped/__init__.py"}
    own |= {
        str(path.relative_to(SOURCE))
        for kind in ("act", "diffusion")
        for path in (SOURCE / "policies" / kind).rglob("*.py")
    }
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    words = (
        "policies.act",
        "policies.diffusion",
        "ActConfig",
        "DiffusionConfig",
        '"act"',
        '"diffusion"',
        "backbone_weights",
    )
    knowing = {name for name, text in files.items() if any(word in text for word in words)}
    examples = {"api/training.py", "api/recording.py", "cli/sections.py"}  # in the text of their documentation
    assert knowing - own - examples == {"policies/networks/backbone.py"}, "which names the flag that both have"


def test_the_instruction_reaches_the_network() -> None:
    left, right = tiny().infer(requests(tiny()))
    assert not np.array_equal(left.actions, right.actions)


def test_token_ids_stay_integers_on_their_way_to_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, torch.dtype] = {}
    policy = tiny()
    forward = policy.network.forward

    def noting(inputs: Mapping[str, Tensor]) -> Tensor:
        seen.update({name: value.dtype for name, value in inputs.items()})
        return forward(inputs)

    monkeypatch.setattr(policy.network, "forward", noting)
    policy.infer(requests(policy))
    assert seen == {"observation.state": torch.float32, WORDS: torch.int64}, "and no text"


def test_half_precision_is_for_numbers_with_a_point(tmp_path: Path) -> None:
    tiny().save_pretrained(tmp_path / "tiny")
    policy = load_policy(tmp_path / "tiny", type=TYPE, device="cpu", dtype="bfloat16")
    assert policy.predict(TINY.example(policy, 2)).shape == (2, 8, 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("int64", "int64"), ("bool", "bool"), ("uint8", "uint8"), ("float64", "float32"), ("float32", "float32")],
)
def test_arrays_keep_their_types(given: str, expected: str) -> None:
    tensor = as_tensor(np.ones((2, 3), given), torch.device("cpu"))
    assert tensor.dtype == getattr(torch, expected)


def test_images_become_numbers_between_zero_and_one() -> None:
    image = image_tensor(np.full((2, 4, 5, 3), 255, np.uint8), torch.device("cpu"))
    assert image.shape == (2, 3, 4, 5)
    assert image.dtype == torch.float32
    assert image.max() == 1


def test_a_state_of_whole_numbers_is_read_as_floats() -> None:
    policy = tiny()
    example = dict(TINY.example(policy, 2))
    whole = {**example, "observation.state": np.ones((2, 2), np.int64)}
    floats = {**example, "observation.state": np.ones((2, 2), np.float32)}
    assert np.array_equal(policy.predict(whole), policy.predict(floats))


def test_words_are_numbered_once_for_an_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    numbered: list[str] = []
    numbers = GUIDE.NumberWords.numbers
    monkeypatch.setattr(GUIDE.NumberWords, "numbers", lambda self, text: numbered.append(text) or numbers(self, text))
    policy = tiny()
    asked = requests(policy)
    for _ in range(5):
        policy.infer(asked)
    assert numbered == [task.instruction for task in TASKS]


def test_predict_reads_instructions_as_a_list() -> None:
    policy = tiny()
    state = np.zeros((2, 2), np.float32)
    chunks = policy.predict({"observation.state": state, "task": ["Go left", "Go right"]})
    rows = [chunk.actions for chunk in policy.infer(requests(policy))]
    expected = policy.predict({"observation.state": state, "task": [task.instruction for task in TASKS]})
    np.testing.assert_allclose(np.stack(rows), expected, atol=1e-6)
    assert not np.array_equal(chunks[0], chunks[1])
    with pytest.raises(UsageError, match=r"predict: 'task' is missing; the policy reads observation\.state, task"):
        policy.predict({"observation.state": state})
    with pytest.raises(UsageError, match="predict: 'task' must be a list of instructions"):
        policy.predict({"observation.state": state, "task": "Go left"})


def test_batches_are_tuned_on_made_up_instructions() -> None:
    assert (tiny().choose_batching(2).rows or 0) >= 1


def test_a_world_without_instructions_is_refused_before_anything_starts() -> None:
    silent = [TASKS[0], dataclasses.replace(TASKS[1], instruction="")]
    complaint = "the policy reads an instruction, but 'right' of toy has none; give one with --env.instruction=…"
    with pytest.raises(UsageError, match=complaint), open_policy(tiny(), silent):
        pass

    class Listening:
        place = "host"
        wants = ObservationSpec(("observation.state",), instruction=True)

    with pytest.raises(UsageError, match=complaint):
        check_policy_fits(Listening(), Traits(), silent)  # type: ignore[arg-type]
    check_policy_fits(Listening(), Traits(), TASKS)  # type: ignore[arg-type]


def test_a_server_says_that_its_policy_reads_instructions() -> None:
    with open_policy(tiny()) as loaded:
        assert PolicyBackend(loaded).contract.to_json()["instruction"] is True


def test_a_function_may_read_the_instruction(tmp_path: Path) -> None:
    heard: set[str] = set()

    def obeys(observations: Mapping[str, Any]) -> np.ndarray:
        heard.update(observations["task"])
        signs = [-1.0 if "left" in text else 1.0 for text in observations["task"]]
        return np.array(signs, np.float32)[:, None]

    run = evaluate(obeys, ToyConfig(task="left,right"), n_episodes=2, inputs=["observation.state", "task"])
    assert heard == {task.instruction for task in TASKS}
    assert run.counts.successes == 4


def test_a_module_may_read_the_instruction() -> None:
    class Obeys(torch.nn.Module):
        def forward(self, inputs: Mapping[str, Any]) -> Tensor:
            signs = [-1.0 if "left" in text else 1.0 for text in inputs["task"]]
            return torch.tensor(signs)[:, None]

    run = evaluate(Obeys(), ToyConfig(task="left,right"), n_episodes=2, inputs=["task"])
    assert run.counts.successes == 4


@dataclasses.dataclass(frozen=True)
class Spelling(ProcessorStep):
    """Reads its alphabet from a file of its own, as a tokenizer does."""

    name: ClassVar[str] = "spelling"
    reads_instruction: ClassVar[bool] = True
    alphabet: str = "abc"

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        return cls(files["alphabet.txt"].decode())

    def files(self) -> dict[str, bytes]:
        return {"alphabet.txt": self.alphabet.encode()}

    def __call__(self, batch: Batch) -> Batch:
        known = [self.alphabet.find(text[:1].lower()) + 1 for text in batch["task"]]
        return {**batch, WORDS: torch.tensor(known)[:, None]}


def spelling(alphabet: str) -> Architecture:
    def processing(config: Any, statistics: Any) -> Processing:
        made = default_processing(config, statistics)
        return Processing(
            Pipeline(made.preprocessor.name, [Spelling(alphabet), *made.preprocessor.steps]), made.postprocessor
        )

    return dataclasses.replace(TINY, processing=processing, steps=(Spelling,))


FILE = "policy_preprocessor_step_0_spelling.alphabet.txt"


@pytest.fixture
def spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(GUIDE, "TINY", spelling("abcdefgh"))
    tiny(GUIDE.TINY).save_pretrained(tmp_path / "spelled")
    return tmp_path / "spelled"


def test_files_of_a_step_are_part_of_the_checkpoint(spelled: Path, tmp_path: Path) -> None:
    assert (spelled / FILE).read_bytes() == b"abcdefgh"
    loaded = load_policy(spelled, type=TYPE, device="cpu")
    assert loaded.preprocessor.step(Spelling) == Spelling("abcdefgh")
    loaded.save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / FILE).read_bytes() == b"abcdefgh"


def test_files_of_a_step_are_part_of_the_policys_id(spelled: Path) -> None:
    before = load_policy(spelled, type=TYPE, device="cpu").id
    assert before == tiny(spelling("abcdefgh")).id != tiny(spelling("abcdefgi")).id
    (spelled / FILE).write_bytes(b"hgfedcba")
    assert load_policy(spelled, type=TYPE, device="cpu").id != before


def test_a_missing_file_of_a_step_is_named(spelled: Path) -> None:
    (spelled / FILE).unlink()
    with pytest.raises(UsageError, match=f"has no {FILE}, so it is no complete checkpoint"):
        load_policy(spelled, type=TYPE)


@pytest.mark.parametrize("place", ["../secret.txt", "/etc/hostname", "inner/../../secret.txt", ".."])
def test_a_step_reads_no_file_from_elsewhere(place: str, spelled: Path) -> None:
    (spelled.parent / "secret.txt").write_text("of the user")
    path = spelled / "policy_preprocessor.json"
    data = json.loads(path.read_text())
    for files in ({"alphabet.txt": place}, {place: FILE}):
        data["steps"][0]["files"] = files
        path.write_text(json.dumps(data))
        with pytest.raises(UsageError, match="must lie beside the JSON that names it"):
            load_policy(spelled, type=TYPE)


def test_shared_steps_are_registered_by_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("spelling", f"{__name__}:Spelling", "yardarm.processor_steps")
    stored = Pipeline("p", [Spelling("xyz"), ToDevice()]).stored()

    class Files:
        def read_tensors(self, name: str) -> dict[str, Tensor]:
            return stored.tensors[name]

        def read_bytes(self, name: str) -> bytes:
            return stored.files[name]

    with pytest.raises(UsageError, match="step 'spelling' is unknown here; known are absolute_actions"):
        Pipeline.from_json(stored.data, Files())
    monkeypatch.setattr(PROCESSOR_STEPS, "_plugins", {"spelling": entry})
    assert Pipeline.from_json(stored.data, Files()).steps[0] == Spelling("xyz")


def test_every_registered_step_has_the_name_that_it_is_registered_by() -> None:
    assert {PROCESSOR_STEPS.load(name).name for name in PROCESSOR_STEPS.names()} == set(PROCESSOR_STEPS.names())


def test_an_architecture_with_a_class_of_policy_or_none_evaluates_alike(tmp_path: Path) -> None:
    tiny().save_pretrained(tmp_path / "tiny")
    spec = PolicySpec("pretrained", {"path": str(tmp_path / "tiny"), "type": TYPE, "device": "cpu"})
    by_name = evaluate(spec, ToyConfig(task="left,right"), n_episodes=2, seed=5)
    by_object = evaluate(tiny(), ToyConfig(task="left,right"), n_episodes=2, seed=5)
    assert [record.fingerprints for record in by_name.episodes] == [
        record.fingerprints for record in by_object.episodes
    ]
