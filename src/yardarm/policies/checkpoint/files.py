"""The files of a checkpoint, as LeRobot lays them out."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from torch import Tensor

from yardarm.errors import UsageError, one_line

__all__ = ["ADAPTER_CONFIG", "ADAPTER_WEIGHTS", "CONFIG", "WEIGHTS", "CheckpointFolder"]

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
# In the place of weights, by PEFT's names.
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"

# How many tensors are read of a file before it is opened again.
READ_AT_ONCE = 8

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """A folder with a checkpoint; one line says what is missing or damaged in it."""

    path: Path
    commit: str | None = None
    """Its version on the Hub, if it is from there."""

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.path / name).is_file()

    def read_json(self, name: str) -> dict[str, Any]:
        """A JSON file with an object in it."""
        try:
            data = json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise self._missing(name) from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise UsageError(f"{self.path / name} is damaged: {one_line(error)}") from error
        if not isinstance(data, dict):
            raise UsageError(f"{self.path / name} is damaged: it holds no JSON object")
        return data

    def read_tensors(self, name: str, leaving: Container[str] = ()) -> dict[str, Tensor]:
        """A safetensors file, but for the tensors of these names, which stay where they are.

        They are copied: where a tensor lies in a file decides how it lies in memory, and kernels round differently for
        that. A file that is open takes memory for all that was read of it, so it is opened for a few tensors at a time.
        """
        wanted = [key for key in self.tensor_names(name) if key not in leaving]
        groups = [wanted[start : start + READ_AT_ONCE] for start in range(0, len(wanted), READ_AT_ONCE)]
        tensors: dict[str, Tensor] = {}
        for group in groups:
            tensors |= self._opened(name, partial(_copies, group))
        return tensors

    def tensor_names(self, name: str) -> list[str]:
        """What a safetensors file has."""
        return self._opened(name, lambda file: list(file.keys()))

    def tensor_shape(self, name: str, tensor: str) -> tuple[int, ...]:
        """The shape of a tensor of a safetensors file."""
        return self._opened(name, lambda file: tuple(file.get_slice(tensor).get_shape()))

    def _opened(self, name: str, read: Callable[[Any], Read]) -> Read:
        try:
            with safe_open(self.path / name, framework="pt") as file:
                return read(file)
        except FileNotFoundError:
            raise self._missing(name) from None
        except (OSError, SafetensorError, ValueError) as error:
            if self._is_lfs_pointer(name):
                raise UsageError(
                    f"{self.path / name} is only a pointer of Git LFS: `git lfs pull` fetches it"
                ) from error
            raise UsageError(f"{self.path / name} is damaged: {one_line(error)}") from error

    def read_bytes(self, name: str) -> bytes:
        """A file of any other kind."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            raise self._missing(name) from None
        except OSError as error:
            raise UsageError(f"{self.path / name} cannot be read: {error.strerror}") from error

    def _is_lfs_pointer(self, name: str) -> bool:
        with open(self.path / name, "rb") as file:
            return file.read(32).startswith(b"version https://git-lfs")

    def _missing(self, name: str) -> UsageError:
        there = sorted(path.name for path in self.path.iterdir())
        listed = ", ".join(there[:12]) + (", …" if len(there) > 12 else "")
        return UsageError(f"{self.path} has no {name}, so it is no complete checkpoint; it has {listed or 'no files'}")


def _copies(names: Iterable[str], file: Any) -> dict[str, Tensor]:
    return {name: file.get_tensor(name).clone() for name in names}
