"""What a policy only names is found before it is used, in a folder of the user's, and kept in its checkpoints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.helpers import GOLDEN, yardarm_here
from yardarm import hub
from yardarm.errors import UsageError
from yardarm.hub import HubFiles
from yardarm.policies import PeftOptions, policy_from_data
from yardarm.policies.checkpoint import finding
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learning import (
    STATE,
    TOKEN_MASK,
    TOKENS,
    Architecture,
    FeatureType,
    NormalizationMode,
    Pipeline,
    PolicyConfig,
    PolicyFeature,
    Processing,
    Repositories,
    Statistics,
    Tensors,
    Tokenize,
    add_adapter,
    default_processing,
    load_policy,
    load_to_fine_tune,
    new_config,
    new_policy,
)

HUB = GOLDEN / "smolvla" / "hub"
MODEL = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct"
SIDE_FILE = "vlm_config.json"
FEATURES = {STATE: PolicyFeature(FeatureType.STATE, (2,))}, {"action": PolicyFeature(FeatureType.ACTION, (1,))}


def mean_std() -> dict[str, NormalizationMode]:
    return {"STATE": NormalizationMode.MEAN_STD, "ACTION": NormalizationMode.MEAN_STD}


@dataclass
class SpokenConfig(PolicyConfig):
    """The size of its vocabulary stands in another model's configuration."""

    type: ClassVar[str] = "spoken"
    model_name: str = MODEL
    normalization_mapping: dict[str, NormalizationMode] = field(default_factory=mean_std)

    @property
    def chunk_length(self) -> int:
        return 4

    def complete(self, repositories: Repositories, folder: Path | None) -> None:
        kept = folder / SIDE_FILE if folder is not None else None
        if repositories.hub_dir is None and kept is not None and kept.is_file():
            self.model = kept.read_bytes()
        else:
            found = repositories.folder(self.model_name, "config.json", (), "vision-language model")
            self.model = (found / "config.json").read_bytes()

    def side_files(self) -> Mapping[str, bytes]:
        return {SIDE_FILE: self.model}

    @property
    def vocabulary(self) -> int:
        return json.loads(self.model)["text_config"]["vocab_size"]


class SpokenNetwork(nn.Module):
    def __init__(self, config: SpokenConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocabulary, 4)
        self.mixed = nn.Linear(4, 4)
        self.state = nn.Linear(2, 4)

    def forward(self, inputs: Tensors) -> Tensor:
        real = inputs[TOKEN_MASK].unsqueeze(-1)
        words = (self.mixed(self.words(inputs[TOKENS])) * real).sum(dim=1)
        return (self.state(inputs[STATE]) + words).unsqueeze(-1)


def spoken_processing(config: SpokenConfig, statistics: Statistics) -> Processing:
    made = default_processing(config, statistics)
    steps = [Tokenize(config.model_name, 24), *made.preprocessor.steps]
    return Processing(Pipeline(made.preprocessor.name, steps), made.postprocessor)


SPOKEN = Architecture(config=SpokenConfig, network=SpokenNetwork, processing=spoken_processing, adapted=("mixed",))
TYPE = f"{__name__}:SPOKEN"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(files: HubFiles) -> Path:
        raise UsageError(f"{files.repo_id} is not in the Hub's cache")

    for module in (hub, finding):
        monkeypatch.setattr(module, "download", refused)


def spoken(hub_dir: Path | None = HUB) -> LearnedPolicy:
    unit = torch.ones(1)
    statistics = {name: {"mean": 0 * unit, "std": unit} for name in (STATE, "action")}
    config = new_config(SPOKEN, *FEATURES, {"device": "cpu"})
    return new_policy(SPOKEN, config, statistics, 0, repositories=Repositories(hub_dir))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spoken")
    spoken().save_pretrained(folder)
    return folder


@pytest.fixture
def of_lerobot(checkpoint: Path, tmp_path: Path) -> Path:
    """The same checkpoint as LeRobot writes it, without the copies."""
    folder = shutil.copytree(checkpoint, tmp_path / "lerobot")
    for path in (folder / SIDE_FILE, *folder.glob("*_tokenizer_processor.*")):
        path.unlink()
    data = json.loads((folder / "policy_preprocessor.json").read_text())
    for step in data["steps"]:
        step.pop("files", None)
    (folder / "policy_preprocessor.json").write_text(json.dumps(data))
    return folder


def answers(policy: LearnedPolicy) -> np.ndarray:
    texts = ["push", "open the drawer", "push"]
    return policy.predict({STATE: np.zeros((3, 2), np.float32), "task": texts})


def test_a_new_policy_finds_what_it_names_in_the_users_folder(tmp_path: Path) -> None:
    push, drawer, again = answers(spoken())
    assert np.array_equal(push, again)
    assert not np.array_equal(push, drawer)
    with pytest.raises(UsageError, match=f"the policy's vision-language model needs config.json of {MODEL}: "):
        spoken(tmp_path)


def test_a_saved_policy_needs_no_hub(checkpoint: Path) -> None:
    assert (checkpoint / SIDE_FILE).read_bytes() == (HUB / MODEL / "config.json").read_bytes()
    loaded = load_policy(checkpoint, type=TYPE, device="cpu")
    assert np.array_equal(answers(loaded), answers(spoken()))
    assert loaded.id == spoken().id


def test_a_checkpoint_of_lerobot_needs_the_users_folder(checkpoint: Path, of_lerobot: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not in the Hub's cache; .* give --policy.hub_dir=DIR"):
        load_policy(of_lerobot, type=TYPE, device="cpu")
    loaded = load_policy(of_lerobot, type=TYPE, device="cpu", hub_dir=str(HUB))
    assert loaded.id == load_policy(checkpoint, type=TYPE, device="cpu").id
    assert load_to_fine_tune(str(of_lerobot), type=TYPE, device="cpu", hub_dir=HUB).id == loaded.id
    loaded.save_pretrained(tmp_path / "again")
    assert load_policy(tmp_path / "again", type=TYPE, device="cpu").id == loaded.id


def test_a_tokenizer_that_is_missing_is_named(of_lerobot: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hub" / MODEL
    folder.mkdir(parents=True)
    shutil.copy(HUB / MODEL / "config.json", folder)
    with pytest.raises(UsageError, match=f"tokenizer needs tokenizer_config.json of {MODEL}: {folder} has none"):
        load_policy(of_lerobot, type=TYPE, hub_dir=tmp_path / "hub")


def test_another_models_sizes_are_refused_with_where_they_came_from(checkpoint: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(HUB, tmp_path / "hub") / MODEL
    model = json.loads((folder / "config.json").read_text())
    model["text_config"]["vocab_size"] += 1
    (folder / "config.json").write_text(json.dumps(model))
    sources = f"config.json and {SIDE_FILE} with --policy.hub_dir={tmp_path / 'hub'}"
    with pytest.raises(UsageError, match=rf"does not fit its {sources}: 'model.words.weight' has the shape \("):
        load_policy(checkpoint, type=TYPE, hub_dir=tmp_path / "hub")


def test_another_models_configuration_makes_another_policy(checkpoint: Path, tmp_path: Path) -> None:
    other = shutil.copytree(checkpoint, tmp_path / "other")
    model = json.loads((other / SIDE_FILE).read_text())
    (other / SIDE_FILE).write_text(json.dumps({**model, "another": 1}))
    assert load_policy(other, type=TYPE).id != load_policy(checkpoint, type=TYPE).id


def test_a_released_policy_is_loaded_again_without_a_hub(of_lerobot: Path) -> None:
    policy = load_policy(of_lerobot, type=TYPE, device="cpu", hub_dir=HUB)
    before = answers(policy)
    policy.release()
    assert policy.released
    assert np.array_equal(answers(policy), before)


def test_a_checkpoint_itself_may_lie_in_the_users_folder(checkpoint: Path, tmp_path: Path) -> None:
    hub_dir = shutil.copytree(HUB, tmp_path / "hub")
    shutil.copytree(checkpoint, hub_dir / "owner" / "spoken")
    loaded = load_policy("owner/spoken", type=TYPE, device="cpu", hub_dir=hub_dir)
    assert loaded.id == load_policy(checkpoint, type=TYPE, device="cpu").id
    with pytest.raises(UsageError, match=r"=main: .*/hub/owner/spoken is a local folder, which has no revisions"):
        load_policy("owner/spoken", type=TYPE, hub_dir=hub_dir, revision="main")


def test_the_base_of_an_adapter_may_lie_there_too(checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(HUB, tmp_path / "hub")
    shutil.copytree(checkpoint, tmp_path / "hub" / "owner" / "spoken")
    policy = load_policy("owner/spoken", type=TYPE, device="cpu", hub_dir=tmp_path / "hub")
    torch.manual_seed(0)
    add_adapter(policy, PeftOptions(r=2), "owner/spoken")
    policy.save_pretrained(tmp_path / "adapter")
    assert (tmp_path / "adapter" / SIDE_FILE).is_file()
    loaded = load_policy(tmp_path / "adapter", type=TYPE, device="cpu", hub_dir=tmp_path / "hub")
    assert np.array_equal(answers(loaded), answers(policy))
    with pytest.raises(UsageError, match="its base policy cannot be found: owner/spoken is not in the Hub's cache"):
        load_policy(tmp_path / "adapter", type=TYPE, device="cpu")


@pytest.mark.parametrize("load", [load_policy, load_to_fine_tune])
def test_a_folder_that_is_not_there_is_refused_first(load: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--policy.hub_dir=.*none does not exist"):
        load(tmp_path, hub_dir=tmp_path / "none")  # type: ignore[operator]


def test_a_relative_folder_keeps_its_meaning_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = policy_from_data({"path": "owner/name", "hub_dir": "hub"})
    assert spec.options["hub_dir"] == str(tmp_path / "hub")


@pytest.mark.parametrize("words", [("eval", "--env.type=toy"), ("train", "--dataset.root=none"), ("serve",)])
def test_every_command_that_loads_a_policy_takes_the_flag(words: tuple[str, ...], checkpoint: Path) -> None:
    answer = yardarm_here(*words, f"--policy.path={checkpoint}", "--policy.hub_dir=/not/there")
    assert answer.returncode == 2
    assert answer.stderr == (
        "yardarm: --policy.hub_dir=/not/there does not exist; give a folder laid out <owner>/<name>/…\n"
    )
