"""Weights that can be released while the policy is not used, and are loaded again when it is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from torch import nn

from yardarm.errors import PolicyFault, UsageError
from yardarm.policies.networks.tensors import add_to_digest

__all__ = ["Weights"]


class Weights:
    """A policy's network; one that was loaded from a file can be released, and is loaded again when it is needed."""

    def __init__(self, network: nn.Module) -> None:
        self.reload: Callable[[], nn.Module] | None = None
        """How it is loaded again, if it can be."""
        self._network: nn.Module | None = network
        self._digest = ""
        self._parameters = self._size = 0

    @property
    def network(self) -> Any:
        """The network, loaded again if it was released."""
        if self._network is None:
            self._network = self._loaded_again()
        return self._network

    @property
    def parameters(self) -> int:
        """How many numbers are learned."""
        if self._network is not None:
            self._parameters = sum(parameter.numel() for parameter in self._network.parameters())
        return self._parameters

    @property
    def size(self) -> int:
        """Bytes."""
        if self._network is not None:
            tensors = self._network.state_dict().values()
            self._size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        return self._size

    @property
    def released(self) -> bool:
        """Whether it is released at the moment."""
        return self._network is None

    def release(self) -> None:
        """Free its memory, if it can be loaded again."""
        if self._network is None or self.reload is None:
            return
        self._parameters, self._size = self.parameters, self.size
        self._digest = self._digest or _digest(self._network)
        self._network = None

    def _loaded_again(self) -> nn.Module:
        assert self.reload is not None
        try:
            network = self.reload()
        except UsageError as error:  # it was there when the run started
            raise PolicyFault(f"the weights cannot be loaded again: {error}") from error
        if _digest(network) != self._digest:
            raise PolicyFault("the checkpoint has changed since the evaluation started, and is another policy now")
        return network


def _digest(network: nn.Module) -> str:
    digest = hashlib.sha256()
    add_to_digest(digest, network.state_dict())
    return digest.hexdigest()
