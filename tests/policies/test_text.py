"""Instructions become the tokens that LeRobot makes of them, and checkpoints keep the tokenizer."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_world import ToyConfig

from tests.helpers import GOLDEN
from tests.policies.test_processing import Files
from yardarm.errors import SetupError, UsageError
from yardarm.hub import Repositories
from yardarm.policies.checkpoint import CheckpointFolder
from yardarm.policies.processing import TOKEN_MASK, TOKENS, NewLine, Pipeline, Tokenize
from yardarm.policies.processing import text as text_module

SMOLVLA = GOLDEN / "smolvla"
HUB = SMOLVLA / "hub"
NAME = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct"
IO = dict(np.load(SMOLVLA / "io.npz"))
TEXTS = [str(text) for text in IO["task"]]
(TASK,) = ToyConfig(task="left").tasks()


@pytest.fixture(scope="module")
def step() -> Tokenize:
    return Tokenize(NAME, max_length=24, padding="longest").completed(Repositories(HUB))


@pytest.fixture(scope="module")
def recorded() -> Pipeline:
    """The preprocessor that LeRobot wrote, up to the tokens."""
    data = json.loads((SMOLVLA / "policy_preprocessor.json").read_text())
    pipeline = Pipeline.from_json(data, CheckpointFolder(SMOLVLA)).completed(Repositories(HUB))
    return Pipeline(pipeline.name, pipeline.steps[:4])


def test_tokens_are_lerobots(recorded: Pipeline) -> None:
    batch = recorded({"task": TEXTS})
    tokens, mask = batch[TOKENS], batch[TOKEN_MASK]
    assert isinstance(tokens, torch.Tensor)
    assert isinstance(mask, torch.Tensor)
    assert (tokens.dtype, mask.dtype) == (torch.int64, torch.bool)
    assert np.array_equal(tokens.numpy(), IO["debug.tokens"])
    assert np.array_equal(mask.numpy(), IO["debug.token_mask"])


def test_an_instruction_ends_with_one_line_break() -> None:
    assert NewLine()({"task": ["push", "pull\n", ""]}) == {"task": ["push\n", "pull\n", "\n"]}
    assert NewLine()({}) == {}


def test_rows_of_an_episode_have_one_shape_and_are_left_alone(recorded: Pipeline) -> None:
    row = recorded.for_task(TASK)
    assert {name: value.shape for name, value in row.items()} == {TOKENS: (24,), TOKEN_MASK: (24,)}
    batch = {name: torch.from_numpy(value)[None] for name, value in row.items()}
    after = recorded({**batch, "task": ["something else"]})
    assert after[TOKENS] is batch[TOKENS]
    assert after[TOKEN_MASK] is batch[TOKEN_MASK]
    count = int(row[TOKEN_MASK].sum())
    expected = recorded({"task": [TASK.instruction]})[TOKENS]
    assert isinstance(expected, torch.Tensor)
    assert row[TOKENS][:count].tolist() == expected[0].tolist()


def test_padding_goes_to_the_longest_text_or_to_the_full_length_on_either_side(step: Tokenize) -> None:
    texts = ["push\n", "open the drawer\n"]
    longest = step({"task": texts})[TOKEN_MASK]
    full = Tokenize(NAME, 24, padding_side="left", tokenizer_files=step.tokenizer_files)({"task": texts})[TOKEN_MASK]
    assert isinstance(longest, torch.Tensor)
    assert isinstance(full, torch.Tensor)
    assert longest.shape[1] == longest.sum(dim=1).max() < 24
    assert full.shape == (2, 24)
    assert full[:, -1].all()
    assert not full[:, 0].any()
    assert full.sum(dim=1).tolist() == longest.sum(dim=1).tolist()


def test_what_is_too_long_loses_its_end_with_one_warning(step: Tokenize, caplog: pytest.LogCaptureFixture) -> None:
    short = Tokenize(NAME, 4, tokenizer_files=step.tokenizer_files)
    whole = step.tokens("open the drawer and wait")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert short.tokens("open the drawer and wait").tolist() == whole[:4].tolist()
    assert [record.getMessage() for record in caplog.records] == [
        f"the last {len(whole) - 4} of {len(whole)} tokens of an instruction are lost: 'open the drawer and wait'"
    ]
    strict = Tokenize(NAME, 4, truncation=False, tokenizer_files=step.tokenizer_files)
    with pytest.raises(UsageError, match=f"wait' has {len(whole)} tokens, more than the policy's 4"):
        strict.tokens("open the drawer and wait")


def test_a_text_is_encoded_once(step: Tokenize, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = Tokenize._encoded
    monkeypatch.setattr(Tokenize, "_encoded", lambda self, text: encoded.append(text) or encode(self, text))
    step({"task": ["never seen", "never seen"]})
    step({"task": ["never seen"]})
    assert encoded == ["never seen"]


def test_settings_are_written_as_lerobot_writes_them(recorded: Pipeline) -> None:
    before = json.loads((SMOLVLA / "policy_preprocessor.json").read_text())["steps"][2:4]
    after = [{key: entry[key] for key in ("registry_name", "config")} for entry in recorded.stored().data["steps"][2:4]]
    assert after == before
    assert list(after[1]["config"]) == list(before[1]["config"])


def test_a_checkpoint_carries_its_tokenizer(recorded: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = recorded.stored()
    own = "policy_preprocessor_step_3_tokenizer_processor"
    assert set(stored.files) == {f"{own}.tokenizer.json", f"{own}.tokenizer_config.json"}
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert stored.files[f"{own}.{name}"] == (HUB / NAME / name).read_bytes()

    def asked(*_: object) -> Path:
        raise AssertionError("the tokenizer is in the checkpoint")

    monkeypatch.setattr(Repositories, "folder", asked)
    again = Pipeline.from_json(stored.data, Files(stored)).completed(Repositories())
    assert np.array_equal(again({"task": TEXTS})[TOKENS], IO["debug.tokens"])
    assert again.stored() == stored


def test_a_tokenizer_whose_class_only_the_models_file_names_keeps_that_file(tmp_path: Path) -> None:
    folder = tmp_path / "owner" / "model"
    folder.mkdir(parents=True)
    for path in (HUB / NAME).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["tokenizer_class"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    step = Tokenize("owner/model", 24).completed(Repositories(tmp_path))
    assert set(step.files()) == {"config.json", "tokenizer.json", "tokenizer_config.json"}
    assert len(step.tokens("push\n"))


def test_code_of_a_tokenizer_is_never_run(tmp_path: Path) -> None:
    folder = tmp_path / "owner" / "model"
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_bytes((HUB / NAME / "tokenizer.json").read_bytes())
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    code = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(code))
    with pytest.raises(UsageError, match="the tokenizer owner/model cannot be read: "):
        Tokenize("owner/model", 24).completed(Repositories(tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"tokenizer_class": "TokenizersBackend"}'])
def test_a_damaged_tokenizer_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    folder = tmp_path / "owner" / "model"
    folder.mkdir(parents=True)
    (folder / "tokenizer_config.json").write_text(content)
    with pytest.raises(UsageError) as refusal:
        Tokenize("owner/model", 24).completed(Repositories(tmp_path))
    assert "owner/model" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_step_that_names_no_tokenizer_is_refused() -> None:
    with pytest.raises(UsageError, match="names no tokenizer_name, and the checkpoint has no tokenizer's files"):
        Tokenize(max_length=24).completed(Repositories(HUB))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"padding": "longst"}, "padding 'longst' is unknown; did you mean 'longest'"),
        ({"padding_side": "top"}, "padding_side 'top' is unknown"),
        ({"max_length": 0}, "max_length must be positive, got 0"),
        ({"max_length": None}, "max_length must be a whole number, not None"),
        ({"max_length": True}, "max_length must be a whole number, not True"),
        ({"tokenizer_name": 5}, "tokenizer_name must be a text, not 5"),
        ({"tokenizer_name": ["a"]}, r"tokenizer_name must be a text, not \['a'\]"),
        ({"task_key": ["a"]}, r"task_key must be a text, not \['a'\]"),
        ({"task_key": None}, "task_key must be a text, not None"),
        ({"truncation": "x"}, "truncation must be true or false, not 'x'"),
        ({"paddings": "longest"}, "its steps cannot be read: .*paddings"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object], message: str) -> None:
    data = {"name": "p", "steps": [{"registry_name": "tokenizer_processor", "config": settings}]}
    with pytest.raises(UsageError, match=message):
        Pipeline.from_json(data, CheckpointFolder(SMOLVLA))


def test_a_batch_without_instructions_is_refused(step: Tokenize) -> None:
    with pytest.raises(UsageError, match=f"needs '{TOKENS}', or instructions as 'task', to know its task"):
        step({"observation.state": torch.zeros(1, 2)})


def test_without_transformers_the_command_that_installs_it_is_named(
    step: Tokenize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    text_module._load_tokenizer.cache_clear()
    with pytest.raises(SetupError, match=r"needs the package transformers: pip install 'yardarm\[vla\]'"):
        _ = replace(step).tokenizer
