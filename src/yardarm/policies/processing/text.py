"""Instructions as tokens, by the tokenizer of a language model."""

from __future__ import annotations

import functools
import json
import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from yardarm.config import one_of, positive
from yardarm.errors import SetupError, UsageError, one_line
from yardarm.hub import Repositories
from yardarm.policies.processing.steps import Batch, ProcessorStep, tensors_of
from yardarm.policies.protocol import TASK
from yardarm.tasks import TaskSpec

__all__ = ["TOKENS", "TOKEN_MASK", "NewLine", "Tokenize"]

logger = logging.getLogger(__name__)

TOKENS = "observation.language.tokens"
TOKEN_MASK = "observation.language.attention_mask"
# A text may have the robot's state in it, and never come again.
MOST_ENCODED = 10_000
MOST_WARNINGS = 20
LONGEST, MAX_LENGTH = "longest", "max_length"

# Every tokenizer has the first; the others hold its words, whichever way it was written.
TOKENIZER_CONFIG = "tokenizer_config.json"
TOKENIZER_FILES = (
    TOKENIZER_CONFIG,
    "tokenizer.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
# Says which class a tokenizer is of, where its own file does not.
MODEL_CONFIG = "config.json"

Files = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class NewLine(ProcessorStep):
    """Ends each instruction with a line break: the prompts of some models do."""

    name: ClassVar[str] = "smolvla_new_line_processor"

    def for_task(self, known: Batch, task: TaskSpec) -> Batch:
        """The task's instruction, too."""
        return self(known)

    def __call__(self, batch: Batch) -> Batch:
        """Add what is missing."""
        texts = batch.get(TASK)
        if not isinstance(texts, list):
            return batch
        return {**batch, TASK: [text if text.endswith("\n") else f"{text}\n" for text in texts]}


@dataclass(frozen=True)
class Tokenize(ProcessorStep):
    """Turns each instruction into the numbers of its tokens, and a mask that is true where they are."""

    name: ClassVar[str] = "tokenizer_processor"
    reads_instruction: ClassVar[bool] = True

    tokenizer_name: str | None = None
    """The repository of the tokenizer, which is needed until its files are here."""
    max_length: int = 512
    task_key: str = TASK
    padding_side: str = "right"
    padding: str = MAX_LENGTH
    truncation: bool = True
    tokenizer_files: Files = field(default=(), repr=False)
    encoded: dict[str, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The tokens of texts that were asked for: a dataset repeats few of them millions of times."""
    cut: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """Texts that were too long, and were warned of."""

    def __post_init__(self) -> None:
        for name in ("tokenizer_name", "task_key"):
            value = getattr(self, name)
            if not isinstance(value, str) and (name == "task_key" or value is not None):
                raise UsageError(f"tokenizer_processor: {name} must be a text, not {value!r}")
        if not isinstance(self.truncation, bool):
            raise UsageError(f"tokenizer_processor: truncation must be true or false, not {self.truncation!r}")
        if not isinstance(self.max_length, int) or isinstance(self.max_length, bool):
            raise UsageError(f"tokenizer_processor: max_length must be a whole number, not {self.max_length!r}")
        positive("tokenizer_processor: max_length", self.max_length)
        one_of("tokenizer_processor: padding_side", self.padding_side, ("left", "right"))
        one_of("tokenizer_processor: padding", self.padding, (LONGEST, MAX_LENGTH))

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read the settings, and the tokenizer if the checkpoint has it."""
        return cls(**config, tokenizer_files=tuple(sorted(files.items())))

    def to_json(self) -> dict[str, Any]:
        """Write the settings, as LeRobot does."""
        names = ("max_length", "task_key", "padding_side", "padding", "truncation")
        named = {} if self.tokenizer_name is None else {"tokenizer_name": self.tokenizer_name}
        return {**{name: getattr(self, name) for name in names}, **named}

    def files(self) -> Mapping[str, bytes]:
        """The tokenizer, so that a checkpoint needs no repository any more."""
        return dict(self.tokenizer_files)

    def completed(self, repositories: Repositories) -> Self:
        """With the tokenizer of the checkpoint, or else of the repository that it names; a broken one is refused."""
        step = self if self.tokenizer_files else replace(self, tokenizer_files=self._found(repositories))
        _ = step.tokenizer
        return step

    def _found(self, repositories: Repositories) -> Files:
        if not self.tokenizer_name:
            raise UsageError(f"{self.name} names no tokenizer_name, and the checkpoint has no tokenizer's files")
        allow = (*TOKENIZER_FILES, MODEL_CONFIG)
        folder = repositories.folder(self.tokenizer_name, TOKENIZER_CONFIG, allow, "tokenizer")
        names = [name for name in TOKENIZER_FILES if (folder / name).is_file()]
        if not _names_its_class(folder / TOKENIZER_CONFIG) and (folder / MODEL_CONFIG).is_file():
            names.append(MODEL_CONFIG)
        return tuple((name, (folder / name).read_bytes()) for name in sorted(names))

    @functools.cached_property
    def tokenizer(self) -> Any:
        """What transformers makes of the files."""
        if not self.tokenizer_files:
            raise UsageError(f"the tokenizer {self.tokenizer_name} was not looked for yet: call `completed` first")
        try:
            tokenizer = _load_tokenizer(self.tokenizer_files)
        except (AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"the tokenizer {self.tokenizer_name} cannot be read: {one_line(error)[:200]}") from error
        if tokenizer.pad_token_id is None:
            raise UsageError(f"the tokenizer {self.tokenizer_name} has no token for padding (pad_token)")
        return tokenizer

    @property
    def highest_token(self) -> int:
        """The largest number that a text can become."""
        return max(self.tokenizer.get_vocab().values())

    def for_task(self, known: Batch, task: TaskSpec) -> Batch:
        """The tokens of the task's instruction, always as many as there may be, so that rows can be stacked.

        There is none where the text depends on more than the task.
        """
        return self._added(known, self.max_length) if self.task_key in known else known

    def __call__(self, batch: Batch) -> Batch:
        """Add the tokens of a batch of texts, unless they are there."""
        return batch if TOKENS in batch else self._added(batch, None if self.padding == LONGEST else self.max_length)

    def _added(self, batch: Batch, length: int | None) -> Batch:
        texts = batch.get(self.task_key)
        if not isinstance(texts, list):
            raise UsageError(f"the policy needs '{TOKENS}', or instructions as '{self.task_key}', to know its task")
        rows = [self.tokens(text) for text in texts]
        tokens, mask = self._padded(rows, max(map(len, rows), default=0) if length is None else length)
        others = tensors_of(batch)
        device = next(iter(others.values())).device if others else tokens.device
        return {**batch, TOKENS: tokens.to(device), TOKEN_MASK: mask.to(device)}

    def _padded(self, rows: Sequence[Tensor], length: int) -> tuple[Tensor, Tensor]:
        tokens = torch.full((len(rows), length), self.tokenizer.pad_token_id, dtype=torch.int64)
        mask = torch.zeros(len(rows), length, dtype=torch.bool)
        for place, row in enumerate(rows):
            there = slice(0, len(row)) if self.padding_side == "right" else slice(length - len(row), length)
            tokens[place, there] = row
            mask[place, there] = True
        return tokens, mask

    def tokens(self, text: str) -> Tensor:
        """The tokens of a text, without padding; what is beyond `max_length` is lost, with a warning."""
        if text not in self.encoded:
            if len(self.encoded) >= MOST_ENCODED:
                self.encoded.clear()
            self.encoded[text] = self._encoded(text)
        return self.encoded[text]

    def _encoded(self, text: str) -> Tensor:
        tokens = self.tokenizer(text, verbose=False)["input_ids"]
        lost = len(tokens) - self.max_length
        if lost > 0:
            if not self.truncation:
                raise UsageError(f"'{text}' has {len(tokens)} tokens, more than the policy's {self.max_length}")
            if len(self.cut) < MOST_WARNINGS:
                said = text.strip()
                logger.warning("the last %d of %d tokens of an instruction are lost: '%s'", lost, len(tokens), said)
                self.cut.append(text)
            tokens = self.tokenizer(text, truncation=True, max_length=self.max_length, verbose=False)["input_ids"]
        return torch.tensor(tokens, dtype=torch.int64)


def _names_its_class(path: Path) -> bool:
    try:
        return "tokenizer_class" in json.loads(path.read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {one_line(error)}") from error


@functools.lru_cache(maxsize=8)
def _load_tokenizer(files: Files) -> Any:
    """A tokenizer made of its files alone, once for all policies that have the same. No code of theirs is run."""
    auto = _import_transformers().AutoTokenizer
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files:
            (Path(folder) / name).write_bytes(content)
        return auto.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _import_transformers() -> Any:
    """The package, which takes seconds to import and is needed for language only."""
    try:
        import transformers
    except ImportError as error:
        raise SetupError("reading instructions needs the package transformers: pip install 'yardarm[vla]'") from error
    return transformers
