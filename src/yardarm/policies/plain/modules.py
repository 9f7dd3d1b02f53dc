"""A torch module as a policy."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import nn

from yardarm.errors import PolicyFault
from yardarm.policies.batching import Batching, Observations
from yardarm.policies.learned.tuning import INSTRUCTIONS, choose_batching, made_up
from yardarm.policies.networks.tensors import add_to_digest, as_tensor, image_tensor
from yardarm.policies.plain.functions import FunctionPolicy, as_chunks
from yardarm.policies.protocol import TASK
from yardarm.tasks import Feature

__all__ = ["ModulePolicy", "evaluation_mode"]


class ModulePolicy(FunctionPolicy):
    """Calls a module with float32 tensors on its own device, images as 0…1 with channels first, in evaluation mode."""

    def __init__(self, module: nn.Module, features: Mapping[str, Feature], inputs: Sequence[str]) -> None:
        super().__init__(module, features, inputs)
        self._module = module
        self.id = f"{self.name}-{_content(module, inputs)}"
        some = next(module.parameters(), None)
        self._device = torch.device("cpu") if some is None else some.device
        self.device_type = self._device.type
        self._cameras = tuple(name for name in self.wants.inputs if features[name].is_image)

    def predict(self, observations: Observations) -> np.ndarray:
        """Ask the module, and leave it as it was."""
        # No inference mode: what a module keeps for later, such as positions, must be of use in training.
        with evaluation_mode(self._module), torch.no_grad(), self.batching.fixed_threads():
            answer = self._module({name: self._input(name, value) for name, value in observations.items()})
        if not isinstance(answer, torch.Tensor):
            raise PolicyFault(f"the module answered with {type(answer).__name__} instead of a tensor of actions")
        return as_chunks(answer.float().numpy(force=True), observations)

    def _input(self, name: str, value: np.ndarray | Sequence[str]) -> torch.Tensor | list[str]:
        if not isinstance(value, np.ndarray):
            return list(value)
        if name in self._cameras:
            return image_tensor(value, self._device)
        return as_tensor(value, self._device).float()

    def choose_batching(self, cores: int) -> Batching:
        """Measured once for a run."""
        return choose_batching(self, self._example, self._device, cores)

    def _example(self, rows: int) -> Observations:
        observations = made_up(self.wants.shapes, self._cameras, rows)
        return {**observations, TASK: [INSTRUCTIONS[0]] * rows} if self.wants.instruction else observations


@contextlib.contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """All parts of a module are in evaluation mode; afterwards, each is in its own."""
    modes = {part: part.training for part in module.modules()}  # some may be frozen in evaluation mode
    module.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training


def _content(module: nn.Module, inputs: Sequence[str]) -> str:
    """Equal for equal weights, source, parts and inputs, so that a run can resume with the same module."""
    try:
        source = inspect.getsource(type(module))
    except (OSError, TypeError):  # defined at a prompt
        source = type(module).__qualname__
    digest = hashlib.sha256(repr([source, repr(module), *inputs]).encode())
    add_to_digest(digest, module.state_dict())
    return digest.hexdigest()[:12]
