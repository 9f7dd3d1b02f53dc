"""Whether the tensors of a file are those that a network has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from yardarm.errors import UsageError, one_line
from yardarm.policies.checkpoint.files import WEIGHTS, CheckpointFolder

__all__ = ["UnusedTensors", "check_fit", "fill", "find_unused"]

# What torch.compile puts into the names of a compiled module's parameters.
COMPILED = "_orig_mod."
# A batch norm counts its batches, and nothing here reads the count. A frozen one counts none, and skips the entry in
# files of others, as torchvision does.
BATCH_COUNT = "num_batches_tracked"


@dataclass(frozen=True, slots=True)
class UnusedTensors:
    """Tensors of a file that nothing reads. They take no memory, and are copied from file to file."""

    path: Path = Path()
    names: tuple[str, ...] = ()

    def read(self) -> dict[str, Tensor]:
        """What to copy."""
        if not self.names:
            return {}
        try:
            with safe_open(self.path, framework="pt") as file:
                return {name: file.get_tensor(name) for name in self.names}
        except (OSError, SafetensorError) as error:
            raise UsageError(f"{self.path} has gone or changed ({one_line(error)})") from error


def find_unused(folder: CheckpointFolder, network: nn.Module, prefix: str, patterns: Sequence[str]) -> UnusedTensors:
    """Those of a checkpoint's weights that fit a pattern, and have no place in the network."""
    own = {prefix + name for name in network.state_dict()}
    plain = {name: name.replace(COMPILED, "") for name in folder.tensor_names(WEIGHTS)} if patterns else {}
    fitting = [name for name, real in plain.items() if any(fnmatchcase(real, pattern) for pattern in patterns)]
    return UnusedTensors(folder.path / WEIGHTS, tuple(name for name in fitting if plain[name] not in own))


def fill(network: nn.Module, prefix: str, weights: Mapping[str, Tensor], source: str, settings: str) -> None:
    """Give a network the tensors of a file, in which names have a prefix; those it computes itself may be absent."""
    own = {prefix + name: value for name, value in network.state_dict().items()}
    found = {name.replace(COMPILED, ""): value for name, value in weights.items()}
    found = {name: value for name, value in found.items() if name in own or not name.endswith(f".{BATCH_COUNT}")}
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
