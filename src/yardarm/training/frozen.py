"""What of a network is trained, and what stays as it is."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

__all__ = ["count_parameters", "frozen_parts"]


def count_parameters(network: nn.Module) -> tuple[int, int]:
    """How many numbers are trained, and how many there are."""
    sizes = [(value.numel(), value.requires_grad) for value in network.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


def frozen_parts(network: nn.Module) -> Iterator[nn.Module]:
    """The largest modules that have parameters, but none that is trained.

    They compute as they will when the policy is used: noise in what cannot adapt to it, and statistics that follow the
    batches, would only disturb what learns from them.
    """
    flags = [value.requires_grad for value in network.parameters()]
    if flags and not any(flags):
        yield network
    elif flags:
        for part in network.children():
            yield from frozen_parts(part)
