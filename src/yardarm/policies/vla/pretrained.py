"""Weights of a whole vision-language model, for the part of it that a new policy starts from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from yardarm.errors import UsageError, one_line
from yardarm.hub import Repositories
from yardarm.policies.checkpoint.fitting import check_fit

__all__ = ["fill_from_model", "find_model_weights"]

WHOLE = "model.safetensors"
# Of a model in several files: which of them has a tensor.
INDEX = "model.safetensors.index.json"


def find_model_weights(repositories: Repositories, repo_id: str) -> Path:
    """The folder with a model's weights, in one file or in several."""
    try:
        return repositories.folder(repo_id, WHOLE, (), "vision-language model")
    except UsageError as error:
        try:
            return repositories.folder(repo_id, INDEX, ("*.safetensors",), "vision-language model")
        except UsageError:
            raise error from None


def fill_from_model(part: nn.Module, folder: Path) -> None:
    """Give a module, whose names are the model's, the model's weights; only those are read."""
    expected = part.state_dict()
    found = _read(folder, expected)
    check_fit(found, expected, str(folder), "config.json")
    part.load_state_dict({name: value.to(expected[name].dtype) for name, value in found.items()})


def _read(folder: Path, names: Iterable[str]) -> dict[str, Tensor]:
    whole = (folder / WHOLE).is_file()
    try:
        places = {} if whole else _places(folder / INDEX)
        wanted: dict[str, list[str]] = {}
        for name in names:
            file = WHOLE if whole else places.get(name)
            if file is not None:
                wanted.setdefault(Path(file).name, []).append(name)
        found: dict[str, Tensor] = {}
        for file, inside in wanted.items():
            with safe_open(folder / file, framework="pt") as tensors:
                there = set(tensors.keys())
                found |= {name: tensors.get_tensor(name) for name in inside if name in there}
        return found
    except (OSError, ValueError, LookupError, SafetensorError) as error:
        raise UsageError(f"the weights in {folder} cannot be read: {one_line(error)}") from error


def _places(index: Path) -> dict[str, str]:
    """Which file has a tensor."""
    data = json.loads(index.read_text(encoding="utf-8"))
    places = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise ValueError(f"'weight_map' in {INDEX} must give a file's name for each tensor")
    return places
