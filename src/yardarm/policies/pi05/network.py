"""The network of π0.5."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.paligemma.network import PaliGemmaNetwork
from yardarm.policies.pi05.adaptive import AdaptiveExpert, Modulation
from yardarm.policies.pi05.config import Pi05Config
from yardarm.policies.vla.flow import Velocity, embed_times, step_times
from yardarm.policies.vla.layers import Memory

__all__ = ["Pi05Network"]

ByTime = Mapping[float, Sequence[Modulation]]


class Pi05Network(PaliGemmaNetwork):
    """The state is in the text; time reaches the expert by its norms."""

    def __init__(self, config: Pi05Config) -> None:
        super().__init__(config, AdaptiveExpert(config.sizes.expert, config.sizes.depth))
        width = config.sizes.expert.width
        self.time_mlp_in = nn.Linear(width, width)
        self.time_mlp_out = nn.Linear(width, width)
        self._prepared: tuple[Hashable, ByTime] | None = None

    def velocity(self, memory: Memory, noisy: Tensor, times: Tensor) -> Tensor:
        """Where noisy actions go at these times (batch); in float32."""
        return self._velocity(memory, noisy, self._modulations(times))

    def flow(self, memory: Memory) -> Velocity:
        """The velocity that leads to one chunk: it passes the same times as any other."""
        by_time = self._by_time()

        def velocity(noisy: Tensor, time: float) -> Tensor:
            return self._velocity(memory, noisy, by_time[time])

        return velocity

    def _velocity(self, memory: Memory, noisy: Tensor, by: Sequence[Modulation]) -> Tensor:
        tokens = self.action_in_proj(noisy).to(self.paligemma.dtype)
        return self.action_out_proj(self.expert(tokens, memory, by).float())

    def _modulations(self, times: Tensor) -> list[Modulation]:
        """What each norm of the expert does at these times."""
        weight = self.time_mlp_in.weight
        embedded = embed_times(times, weight.shape[1], self.config.min_period, self.config.max_period).to(weight)
        return self.expert.modulations(F.silu(self.time_mlp_out(F.silu(self.time_mlp_in(embedded)))))

    def _by_time(self) -> ByTime:
        """The modulations of each step, which no observation changes: computed once for these weights."""
        if torch.is_grad_enabled():
            return self._computed_by_time()
        key = self._what_they_follow_from()
        if self._prepared is None or self._prepared[0] != key:
            self._prepared = key, self._computed_by_time()
        return self._prepared[1]

    def _computed_by_time(self) -> ByTime:
        times = step_times(self.config.num_inference_steps)
        together = self._modulations(torch.tensor(times, device=self.time_mlp_in.weight.device))
        return {time: [one.at(number) for one in together] for number, time in enumerate(times)}

    def _what_they_follow_from(self) -> Hashable:
        """The number of steps, the weights that time meets, and threads, which decide the last bits."""
        parts = (self.time_mlp_in, self.time_mlp_out, *self.expert.norms())
        weights = chain.from_iterable(part.parameters() for part in parts)
        versions = tuple((weight.data_ptr(), weight._version) for weight in weights)
        return self.config.num_inference_steps, torch.get_num_threads(), versions
