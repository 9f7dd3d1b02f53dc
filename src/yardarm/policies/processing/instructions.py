"""Instructions as vectors: the mean of the vectors of their words, from a table that comes with a package."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor

from yardarm.errors import SetupError, UsageError

__all__ = ["ENCODER", "encode_instructions"]

ENCODER = "wordllama/l2_supercat_256"
# wordllama's own loader looks for its tokenizer in the wrong folder, and downloads it; and importing the package
# changes the logging of the whole process. So its files are read here.
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class _Words:
    """A vector for each piece of a word, and what parts a text into pieces."""

    tokenizer: Any
    vectors: np.ndarray

    def mean(self, text: str) -> np.ndarray:
        pieces = self.tokenizer.encode(text, add_special_tokens=False).ids
        if not pieces:
            raise UsageError("the policy reads instructions, but the task has none")
        return self.vectors[pieces].astype(np.float32).mean(axis=0)


def encode_instructions(encoder: str, instructions: Sequence[str]) -> Tensor:
    """Vectors (instruction, size); equal instructions have equal vectors, whatever else is in the batch."""
    if encoder != ENCODER:
        raise UsageError(f"the encoder of instructions '{encoder}' is unknown here; known is {ENCODER}")
    words = _words()
    return torch.from_numpy(np.stack([words.mean(text) for text in instructions]))


@functools.cache
def _words() -> _Words:
    found = importlib.util.find_spec("wordllama")
    if found is None or found.origin is None:
        raise SetupError("encoding an instruction needs a package: pip install 'yardarm[text]'")
    folder = Path(found.origin).parent
    for name in (WEIGHTS, TOKENIZER):
        if not (folder / name).is_file():
            raise SetupError(f"{folder} has no {name}: install another version, pip install 'wordllama==0.4.*'")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with safe_open(folder / WEIGHTS, framework="np") as file:
        return _Words(tokenizer, file.get_tensor("embedding.weight"))
