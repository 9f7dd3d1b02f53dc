"""Whether the tensors of a file are those that a network has."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from yardarm.errors import UsageError, one_line
from yardarm.policies.checkpoint.files import WEIGHTS, CheckpointFolder

__all__ = ["NamesNow", "UnusedTensors", "check_fit", "fill", "read_weights", "same_names"]

# What torch.compile puts into the names of a compiled module's parameters.
COMPILED = "_orig_mod."
# A batch norm counts its batches, and nothing here reads the count. A frozen one counts none, and skips the entry in
# files of others, as torchvision does.
BATCH_COUNT = "num_batches_tracked"


@dataclass(frozen=True, slots=True)
class UnusedTensors:
    """Tensors of a file that nothing reads. They take no memory, and are copied from file to file."""

    path: Path = Path()
    names: Mapping[str, str] = field(default_factory=dict)
    """What each is called in the file, by the name that it is saved by."""

    def read(self) -> dict[str, Tensor]:
        """What to copy."""
        if not self.names:
            return {}
        try:
            with safe_open(self.path, framework="pt") as file:
                return {name: file.get_tensor(stored) for name, stored in self.names.items()}
        except (OSError, SafetensorError) as error:
            raise UsageError(f"{self.path} has gone or changed ({one_line(error)})") from error


NamesNow = Callable[[Iterable[str]], Mapping[str, str]]
"""Of the names in a file: for each name that a tensor should have, the one that it has. Two may be of one tensor."""


def same_names(names: Iterable[str]) -> dict[str, str]:
    """Tensors have the names that they should have."""
    return {name: name for name in names}


def read_weights(
    folder: CheckpointFolder, own: Container[str], unused: Sequence[str], names_now: NamesNow
) -> tuple[dict[str, Tensor], UnusedTensors]:
    """A checkpoint's weights but for those that fit a pattern and are not among a network's own, which stay there."""
    plain = {name.replace(COMPILED, ""): name for name in folder.tensor_names(WEIGHTS)}
    stored = {name: plain[before] for name, before in names_now(plain).items()}
    left = {
        name: before
        for name, before in stored.items()
        if name not in own and any(fnmatchcase(name, pattern) for pattern in unused)
    }
    read = {name: before for name, before in stored.items() if name not in left}
    tensors = folder.read_tensors(WEIGHTS, leaving=set(stored.values()) - set(read.values()))
    return {name: tensors[before] for name, before in read.items()}, UnusedTensors(folder.path / WEIGHTS, left)


def fill(network: nn.Module, prefix: str, weights: Mapping[str, Tensor], source: str, settings: str) -> None:
    """Give a network the tensors of a file, in which names have a prefix; those it computes itself may be absent."""
    own = {prefix + name: value for name, value in network.state_dict().items()}
    found = {name: value for name, value in weights.items() if name in own or not name.endswith(f".{BATCH_COUNT}")}
    computed = {prefix + name: own[prefix + name] for name in _computed_buffers(network)}
    check_fit({**computed, **found}, own, source, settings)
    filled = {name: found.get(name, computed.get(name)) for name in own}
    network.load_state_dict({name.removeprefix(prefix): value for name, value in filled.items()}, assign=True)


def _computed_buffers(network: nn.Module) -> list[str]:
    """Those that follow from the settings alone. Statistics of batch norms are buffers, too, and learned."""
    return [
        f"{path}.{name}".removeprefix(".")
        for path, module in network.named_modules()
        for name in (*getattr(module, "computed_buffers", ()), BATCH_COUNT)
        if name in module._buffers
    ]


def check_fit(found: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str, settings: str) -> None:
    """Refuse other names, other shapes, and values that are no numbers; `source` was to fit `settings`."""
    misfit = f"{source} does not fit its {settings}"
    if missing := [name for name in expected if name not in found]:
        raise UsageError(f"{misfit}: it lacks {_few(missing)}")
    if unknown := [name for name in found if name not in expected]:
        raise UsageError(f"{misfit}: nothing there is called {_few(unknown)}")
    for name, value in expected.items():
        if found[name].shape != value.shape:
            raise UsageError(
                f"{misfit}: '{name}' has the shape {tuple(found[name].shape)}, where {tuple(value.shape)} is expected"
            )
        # NaN and infinity survive a sum, which is far quicker than a search.
        if not found[name].sum(dtype=torch.float64).isfinite():
            raise UsageError(f"{source} is damaged: '{name}' has values that are not finite (NaN or infinity)")


def _few(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:3])
    return listed + (f" and {len(names) - 3} more" if len(names) > 3 else "")
