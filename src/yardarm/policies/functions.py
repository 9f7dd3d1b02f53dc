"""Plain functions and torch modules as policies, for evaluation inside somebody's own training loop."""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from yardarm.errors import PolicyFault, UsageError
from yardarm.policies.batching import BatchedPolicy, Batching, Observations
from yardarm.policies.protocol import ObservationSpec
from yardarm.tasks import Feature

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["FunctionPolicy", "ModulePolicy"]


class FunctionPolicy(BatchedPolicy):
    """Calls a function with a batch of observations, as the environment gives them: numpy, images as bytes.

    It answers with an action (batch, action) or a chunk (batch, time, action) for each row. It is called with one row
    at a time, unless ``--eval.exact=false`` allows for as many as there are.
    """

    def __init__(self, function: Callable[[Any], Any], features: Mapping[str, Feature], inputs: Sequence[str]) -> None:
        for name in inputs:
            if name not in features:
                raise UsageError(f"inputs: the environment offers no '{name}'; it offers {', '.join(features)}")
        self._function = function
        shapes = {name: features[name].shape for name in inputs}
        self.wants = ObservationSpec(tuple(inputs), shapes=shapes)
        self._cameras = tuple(name for name in inputs if features[name].is_image)
        self.id = self._name()

    def _name(self) -> str:
        """A function's results are its own: what it may read besides its source is unknown."""
        name = getattr(self._function, "__name__", type(self._function).__name__).strip("<>")
        return str(getattr(self._function, "id", None) or f"{name}-{uuid.uuid4().hex[:12]}")

    def predict(self, observations: Observations) -> np.ndarray:
        """Ask the function."""
        return _chunks(np.asarray(self._function(dict(observations))), len(next(iter(observations.values()))))


class ModulePolicy(FunctionPolicy):
    """Calls a torch module with tensors on its own device, images as 0…1 with channels first, in evaluation mode."""

    _function: nn.Module

    def _name(self) -> str:
        """By content, so that a run can go on with the same weights."""
        import torch

        kind = type(self._function)
        try:
            digest = hashlib.sha256(inspect.getsource(kind).encode())
        except (OSError, TypeError):  # defined at a prompt
            digest = hashlib.sha256(kind.__qualname__.encode())
        for name, value in sorted(self._function.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return f"{kind.__name__}-{digest.hexdigest()[:12]}"

    def predict(self, observations: Observations) -> np.ndarray:
        """Ask the module, and leave it as it was."""
        import torch

        was_training = self._function.training
        self._function.eval()
        try:
            with torch.inference_mode(), self.batching.fixed_threads():
                answer = self._function({name: self._tensor(name, value) for name, value in observations.items()})
        finally:
            self._function.train(was_training)
        if not isinstance(answer, torch.Tensor):
            raise PolicyFault(f"the module answered with {type(answer).__name__} instead of a tensor of actions")
        return _chunks(answer.float().numpy(force=True), len(next(iter(observations.values()))))

    def choose_batching(self, cores: int) -> Batching:
        """Measured once for a run."""
        from yardarm.policies.tuning import MOST_ROWS, choose_batching, made_up

        return choose_batching(self, made_up(self.wants.shapes, self._cameras, MOST_ROWS), self._device, cores)

    @property
    def _device(self) -> Any:
        import torch

        some = next(self._function.parameters(), None)
        return torch.device("cpu") if some is None else some.device

    def _tensor(self, name: str, value: np.ndarray) -> Tensor:
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(value)).to(self._device)
        return tensor.movedim(-1, -3).float() / 255 if name in self._cameras else tensor.float()


def _chunks(actions: np.ndarray, rows: int) -> np.ndarray:
    """One action for each row is a chunk of one."""
    if actions.ndim not in (2, 3) or len(actions) != rows:
        raise PolicyFault(
            f"the policy answered {rows} row(s) with the shape {actions.shape}; "
            f"it must be ({rows}, action size) or ({rows}, how many, action size)"
        )
    return actions[:, None] if actions.ndim == 2 else actions
