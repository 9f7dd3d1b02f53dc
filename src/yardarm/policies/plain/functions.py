"""Plain functions as policies, and whatever else a user may hand over, in the middle of a training loop, say."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.errors import PolicyFault, UsageError
from yardarm.policies.batching import BatchedPolicy, Observations
from yardarm.policies.loading import PolicySpec
from yardarm.policies.naming import named_policy
from yardarm.policies.plain.adapting import adapted, is_for_lerobot
from yardarm.policies.protocol import TASK, ObservationSpec, Policy
from yardarm.tasks import Feature

__all__ = ["FunctionPolicy", "as_chunks", "as_policy"]


class FunctionPolicy(BatchedPolicy):
    """Calls a function with a batch of observations, as the environment gives them: numpy, images as bytes.

    It answers with an action (batch, action) or a chunk (batch, time, action) for each row. It is called with one row
    at a time, unless ``--eval.exact=false`` allows for as many as there are. If ``task`` is among its inputs, it gets
    the list of the rows' instructions, too.
    """

    def __init__(self, function: Callable[[Any], Any], features: Mapping[str, Feature], inputs: Sequence[str]) -> None:
        names = tuple(name for name in inputs if name != TASK)
        for name in names:
            if name not in features:
                raise UsageError(f"inputs: the environment offers no '{name}'; it offers {', '.join(features)}")
        self._function = function
        shapes = {name: features[name].shape for name in names}
        self.wants = ObservationSpec(names, shapes=shapes, instruction=TASK in inputs)
        # What a function reads besides its source is unknown: its results are its own, unless it has a name for them.
        self.name = getattr(function, "__name__", type(function).__name__).strip("<>")
        self.id = str(getattr(function, "id", None) or f"{self.name}-{uuid.uuid4().hex[:12]}")

    def predict(self, observations: Observations) -> np.ndarray:
        """Ask the function."""
        return as_chunks(np.asarray(self._function(dict(observations))), observations)


def as_policy(
    given: Any, features: Callable[[], Mapping[str, Feature]], inputs: Sequence[str] | None
) -> PolicySpec | Policy:
    """A policy of what a user hands over: a name, a checkpoint, a policy, a module, a function.

    Modules and functions read `inputs`, or all of an environment's features; policies for LeRobot's interface may
    declare their own.
    """
    if is_for_lerobot(given):
        policy: Policy = adapted(given, _checked(inputs) or ())
        return policy
    is_policy = isinstance(given, str | Path | PolicySpec) or (hasattr(given, "infer") and hasattr(given, "wants"))
    if is_policy:
        if inputs is not None:
            raise UsageError("inputs are for functions and modules: this policy says itself what it reads")
        return _by_name(given) if isinstance(given, str | Path) else given
    if not callable(given):
        raise UsageError(
            f"{type(given).__name__} is no policy: give a name, a checkpoint, a function or a torch module"
        )
    offered = features()
    names = tuple(_checked(inputs) or offered)
    torch = sys.modules.get("torch")  # its modules cannot be here without it
    if torch is not None and isinstance(given, torch.nn.Module):
        from yardarm.policies.plain.modules import ModulePolicy

        return ModulePolicy(given, offered, names)
    return FunctionPolicy(given, offered, names)


def _checked(inputs: Sequence[str] | None) -> Sequence[str] | None:
    if isinstance(inputs, str) or (inputs is not None and not inputs):
        raise UsageError(f"inputs must be a list of names, such as ['observation.state'], not {inputs!r}")
    return inputs


def _by_name(given: str | Path) -> PolicySpec:
    """What a word says (see `named_policy`); a `Path` is a checkpoint's, whatever it is called."""
    said = {"path": str(given)} if isinstance(given, Path) else named_policy(given)
    kind = said.pop("type", "remote" if "url" in said else "pretrained")
    return PolicySpec(kind, said)


def as_chunks(actions: np.ndarray, observations: Observations) -> np.ndarray:
    """One action for each row is a chunk of one."""
    rows = len(next(iter(observations.values())))
    if actions.ndim not in (2, 3) or len(actions) != rows:
        raise PolicyFault(
            f"the policy answered {rows} row(s) with the shape {actions.shape}; "
            f"it must be ({rows}, action size) or ({rows}, how many, action size)"
        )
    return actions[:, None] if actions.ndim == 2 else actions
