from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn


class Base(nn.Module):
    """Moves towards the goal, a little differently each time; `gain` is its only weight."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.calls = 0
        self.gain = nn.Parameter(torch.zeros(1))
        self.bias = nn.Parameter(torch.randn(1))

    @classmethod
    def from_pretrained(cls, folder: str | Path, config: Any) -> Base:
        policy = cls(config)
        if config.breaks == "loader":
            raise LookupError("nobody expects\nthis error")
        if config.breaks != "weights":
            policy.load_state_dict(load_file(Path(folder) / "model.safetensors"), strict=False)
        policy.reset()
        return policy

    def reset(self) -> None:
        pass

    def direction(self, state: Tensor) -> Tensor:
        self.calls += 1
        if self.config.breaks == "process" and self.calls == 5:
            mark = Path(self.config.extra["mark"])
            if not mark.exists():
                mark.touch()
                os._exit(9)
        return self.gain * torch.sign(state[..., 1:] - state[..., :1]) + self.bias


class Stateless(Base):
    """As SmolVLA: chunks from the newest look, and noise that can be given."""

    def reset(self) -> None:
        self._queues = {"action": deque(maxlen=self.config.n_action_steps)}

    def predict_action_chunk(self, batch: dict[str, Any], noise: Tensor | None = None) -> Tensor:
        state = batch["observation.state"]
        assert len(batch["task"]) == len(state) == len(batch["observation.image"])
        assert batch["observation.image"].shape[1:] == (3, 8, 9)
        assert batch["observation.image"].max() <= 1
        assert "action" not in batch
        if noise is None:
            noise = torch.normal(0.0, 1.0, (len(state), self.config.chunk_size, self.config.max_action_dim))
        return self.direction(state)[:, None] + 0.2 * noise[..., :1]

    def select_action(self, batch: dict[str, Any]) -> Tensor:
        queue = self._queues["action"]
        if not queue:
            batch = {name: value for name, value in batch.items() if name != "action"}
            queue.extend(self.predict_action_chunk(batch)[:, : self.config.n_action_steps].transpose(0, 1))
        return queue.popleft()


class Queued(Base):
    """As VQ-BeT: reads the last observations from queues, and draws from the global generator."""

    def reset(self) -> None:
        self._queues = {
            "observation.state": deque(maxlen=self.config.n_obs_steps),
            "action": deque(maxlen=self.config.n_action_steps),
        }

    def predict_action_chunk(self, batch: dict[str, Any]) -> Tensor:
        seen = torch.stack(list(self._queues["observation.state"]), dim=1)
        speed = seen[:, -1, :1] - seen[:, 0, :1]
        noise = torch.randn(len(seen), self.config.n_action_steps, 1)
        return (self.direction(seen[:, -1]) - speed)[:, None] + 0.2 * noise

    def select_action(self, batch: dict[str, Any]) -> Tensor:
        queue = self._queues["observation.state"]
        while len(queue) < self.config.n_obs_steps - 1:
            queue.append(batch["observation.state"])
        queue.append(batch["observation.state"])
        if not self._queues["action"]:
            self._queues["action"].extend(self.predict_action_chunk(batch).transpose(0, 1))
        return self._queues["action"].popleft()


class Novel(Base):
    """Of a type that nobody knows: it counts the observations of its episode, in a place of its own."""

    def reset(self) -> None:
        self.secret = 0

    def select_action(self, batch: dict[str, Any]) -> Tensor:
        self.secret += 1
        return self.direction(batch["observation.state"]) / self.secret**0.1


CLASSES = {"smolvla": Stateless, "vqbet": Queued, "novel": Novel, "sarm": Base}


def get_policy_class(name: str) -> Any:
    return CLASSES[name]


def make_pre_post_processors(policy_cfg: Any, pretrained_path: str, preprocessor_overrides: Any) -> Any:
    assert preprocessor_overrides == {"device_processor": {"device": policy_cfg.device}}
    assert Path(pretrained_path, "policy_preprocessor.json").exists()

    def preprocess(batch: dict[str, Any]) -> dict[str, Any]:
        return {**batch, "action": None, "next.reward": 0.0, "info": {}}

    def postprocess(action: Tensor) -> Tensor:
        return action.clamp(-1, 1).cpu()

    return preprocess, postprocess
