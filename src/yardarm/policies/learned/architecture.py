"""A kind of learned policy as one bundle: everything that the rest of the project knows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from yardarm.errors import UsageError, one_line
from yardarm.policies.batching import Observations
from yardarm.policies.checkpoint import NamesNow, same_names
from yardarm.policies.learned.config import PolicyConfig
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.tuning import example_observations
from yardarm.policies.loading import ARCHITECTURES
from yardarm.policies.processing import MakeProcessing, ProcessorStep, default_processing
from yardarm.registry import import_object

__all__ = ["Architecture", "find_architecture"]


@dataclass(frozen=True)
class Architecture:
    """The parts of a policy that can be loaded, evaluated and trained. Only the first two must be given."""

    config: type[PolicyConfig]
    """Its options, as they stand in ``config.json``; their `type` is the architecture's name."""
    network: Callable[[Any], nn.Module]
    """Made of the configuration; it reads and answers in normalised values."""
    objective: Callable[[Any, Any], nn.Module] | None = None
    """Made of configuration and network, it maps a batch to its losses; without one, demonstrations teach nothing."""
    policy: type[LearnedPolicy] = LearnedPolicy
    """How it looks and answers: what it remembers of an episode, and which actions of a chunk are played."""
    processing: MakeProcessing = default_processing
    """The pipelines of a new policy."""
    steps: tuple[type[ProcessorStep], ...] = ()
    """Steps that its pipelines may have besides those that all architectures share."""
    initial_weights: Callable[[Any, Any], None] | None = None
    """Gives the network of a new policy weights that were trained elsewhere, as its configuration says."""
    example: Callable[[LearnedPolicy, int], Observations] = example_observations
    """Makes observations of this many rows, on which batches are tuned."""
    prefix: str = "model."
    """What a checkpoint puts before the names of the network's parameters."""
    unused: tuple[str, ...] = ()
    """Patterns (``*.lm_head.*``) of tensors that files have and the network does not: they are not loaded, and saved
    again as they were."""
    names_now: NamesNow = same_names
    """For checkpoints of older layouts: what their tensors are called now."""
    fingerprinted: bool = False
    """Whether checkpoints keep an answer of the policy, which loading compares: for networks that depend on what others
    change."""
    adapted: tuple[str, ...] | str = ()
    """Layers that get an adapter, unless the user names others: ends of names, or a regular expression for names as
    checkpoints have them."""

    @property
    def name(self) -> str:
        """What checkpoints and ``--policy.type`` call it."""
        return self.config.type

    def made(self, config: PolicyConfig) -> nn.Module:
        """The network of these options; raise if they make none."""
        try:
            return self.network(config)
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(
                f"these options do not make a policy of type '{self.name}': {one_line(error)[:160]}"
            ) from error


def find_architecture(name: str) -> Architecture:
    """A registered one; or ``package.module:NAME``, which runs that module: for what the user typed only."""
    found = import_object(name) if ":" in name else ARCHITECTURES.load(name)
    if not isinstance(found, Architecture):
        raise UsageError(f"'{name}' is a {type(found).__name__}, not an Architecture; docs/adding-an-architecture.md")
    return found
