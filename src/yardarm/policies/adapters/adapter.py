"""An adapter on a network: live while it is trained, or merged into the network's weights."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from yardarm.errors import SetupError, UsageError, one_line
from yardarm.policies.adapters.exactness import drop_what_is_not_called, keep_attention_exact, keep_running_statistics
from yardarm.policies.networks.tensors import add_to_digest

__all__ = ["Adapter", "import_peft", "inject"]

# What a configuration says besides what the adapter does.
NO_MATTER = {"auto_mapping", "base_model_name_or_path", "inference_mode", "peft_version", "revision", "task_type"}


@dataclass(slots=True)
class Adapter:
    """What was put onto a network."""

    config: dict[str, Any]
    """What PEFT reads from `adapter_config.json`."""
    base_digest: str
    """A name by content of the weights that it changes."""
    model: Any = None
    """PEFT's model around the network, while the adapter is live."""
    stored: dict[str, Tensor] = field(default_factory=dict)
    """Its tensors, since it was merged."""

    @property
    def base(self) -> str:
        """The folder or Hub id of the policy that it was made for."""
        return str(self.config["base_model_name_or_path"])

    @property
    def is_live(self) -> bool:
        """Whether it can be trained."""
        return self.model is not None

    def tensors(self) -> dict[str, Tensor]:
        """Its tensors, by the names that its file gives them."""
        if not self.is_live:
            return self.stored
        state = import_peft().get_peft_model_state_dict(self.model, save_embedding_layers=False)
        return {name: value.contiguous() for name, value in state.items()}

    def merge(self) -> None:
        """Make the change a part of the network's weights, which costs nothing when it is used."""
        if not self.is_live:
            return
        self.stored = {name: value.detach().clone() for name, value in self.tensors().items()}
        drop_what_is_not_called(self.model)
        _put_in_trained_modules(self.model)
        self.model.merge_and_unload().requires_grad_(True)
        self.model = None

    def identity(self) -> list[Any]:
        """What changes the answers, besides its own tensors."""
        return [{name: value for name, value in self.config.items() if name not in NO_MATTER}, self.base_digest]

    def describe(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {"adapter": self.config["peft_type"], "base": self.base}


class _Whole(nn.Module):
    """LeRobot adapts the whole policy, in which the network has a name; so names in files are the same."""

    def __init__(self, network: nn.Module, prefix: str, base: str) -> None:
        super().__init__()
        self.add_module(prefix.removesuffix("."), network)
        self.name_or_path = base


def inject(network: nn.Module, prefix: str, peft_config: Any) -> Adapter:
    """Put a new adapter onto a network, in place; only it can be trained then."""
    base = str(peft_config.base_model_name_or_path)
    digest = hashlib.sha256()
    add_to_digest(digest, {prefix + name: value for name, value in network.state_dict().items()})
    peft_config.inference_mode = False
    training = network.training
    try:
        model = import_peft().get_peft_model(_Whole(network, prefix, base), peft_config)
    except (ArithmeticError, AttributeError, ImportError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"an adapter of type {peft_config.peft_type.value} does not fit: {one_line(error)}") from error
    network.train(training)
    keep_running_statistics(network)
    keep_attention_exact(network)
    peft_config.inference_mode = True  # as PEFT saves it: training is asked for when an adapter is loaded
    config = json.loads(json.dumps(peft_config.to_dict(), default=sorted))  # PEFT has sets of names
    return Adapter(config, digest.hexdigest(), model)


def _put_in_trained_modules(model: nn.Module) -> None:
    """Replace modules by their copies that were trained as a whole, as some of PEFT's methods cannot."""
    wrapper = import_peft().utils.ModulesToSaveWrapper
    for name, module in list(model.named_modules()):
        if isinstance(module, wrapper):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, module.modules_to_save[module.active_adapters[0]])


def import_peft() -> Any:
    """The package, which takes seconds to import and is needed for adapters only."""
    try:
        import peft
    except ImportError as error:
        raise SetupError("adapters need the package peft, which is not here: pip install 'yardarm[peft]'") from error
    return peft
