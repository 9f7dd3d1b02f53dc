"""Inference in micro-batches of one shape, so that an answer does not depend on the rest of its batch.

Batched kernels compute a row in an order that depends on the batch's shape and on the number of threads. With both
fixed, and missing rows filled up, an episode's actions are the same for any number of workers.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from yardarm.policies.protocol import TASK, ActionChunk, ObservationSpec, Request
from yardarm.policies.traits import Traits
from yardarm.tasks import EpisodeSpec

__all__ = ["BatchedPolicy", "Batching", "Observations", "Row"]

Row = Mapping[str, np.ndarray | str]
"""What a policy reads for one episode, by name."""
Observations = Mapping[str, np.ndarray | Sequence[str]]
"""The same for several, with a leading batch axis; texts are a list."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Batching:
    """The rows of a micro-batch (None: as many as there are), and torch's threads (None: as many as it has)."""

    rows: int | None = 1
    threads: int | None = None
    reason: str = field(default="", compare=False)
    """Why it was chosen, for a run's log and manifest."""

    def groups(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """Divide the items into micro-batches."""
        rows = self.rows or len(items)
        return (items[start : start + rows] for start in range(0, len(items), rows))

    def filled(self, observations: Observations) -> Observations:
        """Repeat the last row until the micro-batch is full."""
        count = len(next(iter(observations.values())))
        missing = (self.rows or count) - count
        if not missing:
            return observations
        return {
            name: np.concatenate([value, value[-1:].repeat(missing, 0)])
            if isinstance(value, np.ndarray)
            else [*value, *[value[-1]] * missing]
            for name, value in observations.items()
        }

    @contextlib.contextmanager
    def fixed_threads(self) -> Iterator[None]:
        """Torch's threads belong to the whole process, so the caller's number is restored."""
        import torch

        before = torch.get_num_threads()
        if self.threads is None or self.threads == before:
            yield
            return
        torch.set_num_threads(self.threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


class BatchedPolicy(ABC):
    """A policy that answers a whole batch in one call; what belongs to an episode stays in its request's state."""

    place: Literal["host", "worker"] = "host"
    wants: ObservationSpec
    batching: Batching = Batching()
    device_type: str = "cpu"
    """Where it computes; another kind of device rounds differently."""
    traits: Traits = Traits()

    @abstractmethod
    def predict(self, observations: Observations) -> np.ndarray:
        """Chunks (batch, time, action) in the environment's units for raw observations (batch, …)."""

    def start(self, episode: EpisodeSpec) -> Any:
        """Make the state of one episode; without history, queues or noise there is none."""
        return None

    def row(self, request: Request) -> Row:
        """Note the looks in the request's state if they are needed later, and return what `predict` reads for it."""
        observed = {name: request.observation[name] for name in self.wants.inputs}
        return {**observed, TASK: request.episode.task.instruction} if self.wants.instruction else observed

    def answer(self, state: Any, chunk: np.ndarray) -> ActionChunk:
        """What to play of a predicted chunk, and when to look meanwhile."""
        return ActionChunk(chunk)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Answer each request."""
        chunks: list[ActionChunk] = []
        for group in self.batching.groups(requests):
            batch = self.stacked([self.row(request) for request in group])
            predicted = self.predict(self.batching.filled(batch))
            chunks += [self.answer(request.state, chunk) for request, chunk in zip(group, predicted, strict=False)]
        return chunks

    def stacked(self, rows: Sequence[Row]) -> Observations:
        """Rows as one batch; all of an input must have one shape."""
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {
            name: [str(value) for value in column] if isinstance(column[0], str) else np.stack(column)
            for name, column in columns.items()
        }

    def describe(self) -> dict[str, Any]:
        """What a manifest says about it, besides its id."""
        return {}

    def choose_batching(self, cores: int) -> Batching:
        """The batching for a run on this many cores; one row at a time is always exact."""
        return Batching()
