"""Adapters: small changes to a policy's weights, trained and stored beside it by the `peft` package."""

from yardarm.policies.adapters.adapter import Adapter
from yardarm.policies.adapters.adding import add_adapter, merge_adapter
from yardarm.policies.adapters.reading import find_base, read_adapter

__all__ = [
    "Adapter",
    "add_adapter",
    "find_base",
    "merge_adapter",
    "read_adapter",
]
