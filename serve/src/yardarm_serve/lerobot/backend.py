"""A LeRobot checkpoint as a backend."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from yardarm_serve.backend import Answer, BackendError, Contract, Episode, Look, Request
from yardarm_serve.lerobot.kinds import Mode, kind_of
from yardarm_serve.lerobot.loading import Loaded, content_hash, load
from yardarm_serve.lerobot.memory import EpisodeMemory, action_queue, episode_noise

__all__ = ["LeRobotBackend"]

# Inputs in a configuration that policies fill in themselves.
FILLED_IN = "empty_camera"


class LeRobotBackend:
    """Serves any of LeRobot's policy types to several episodes, in the way that its type allows."""

    def __init__(
        self,
        path: str = "",
        *,
        revision: str | None = None,
        type: str | None = None,
        device: str = "auto",
        **overrides: Any,
    ) -> None:
        if not path:
            raise BackendError("--policy.path=… is missing: a checkpoint's folder, or a Hub id (owner/name)")
        self._loaded = load(str(path), revision, device, type, overrides)
        self._kind = kind_of(self._loaded.config)
        self.gains_from_batches = self._kind.mode is Mode.BATCHED
        changed = json.dumps({"device": self._loaded.device.partition(":")[0], **overrides}, sort_keys=True)
        name = f"lerobot-{self._loaded.config.type}-{content_hash(self._loaded.folder, changed)}"
        self.contract = _contract(self._loaded, self._kind, name, str(path))

    def start(self, episode: Episode) -> EpisodeMemory:
        """Create the episode's memory."""
        if self._loaded.config.type == "xvla" and episode.benchmark.startswith("libero"):
            raise BackendError(
                "X-VLA reads LIBERO's controller, which is not part of the observations here: evaluate it with LeRobot"
            )
        return EpisodeMemory.fresh(self._loaded.policy, episode.seed)

    def infer(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer all together, or one by one."""
        with torch.inference_mode(), self._autocast():
            if self._kind.mode is Mode.BATCHED:
                return self._predict(requests)
            return [self._step(request) for request in requests]

    def _predict(self, requests: Sequence[Request]) -> list[Answer]:
        """Call `predict_action_chunk` once for all; alone in a batch, an episode uses its own generators."""
        loaded, memories = self._loaded, [request.state for request in requests]
        batch = loaded.preprocessor(_batch(requests, [request.looks[-1] for request in requests]))
        batch = {name: value for name, value in batch.items() if name != "action"}
        noise = {}
        if self._kind.noise:
            shape = (1, loaded.config.chunk_size, loaded.config.max_action_dim)
            noise["noise"] = torch.cat([episode_noise(memory, shape, loaded.device) for memory in memories])
        elif len(memories) == 1:
            memories[0].put_in(loaded.policy)
        chunk = loaded.policy.predict_action_chunk(batch, **noise)
        if not noise and len(memories) == 1:
            memories[0].take_out(loaded.policy)
        played = chunk[:, : getattr(loaded.config, "n_action_steps", None)]
        return [Answer(actions) for actions in self._postprocessed(played)]

    def _postprocessed(self, chunk: torch.Tensor) -> np.ndarray:
        """Postprocess whole chunks, or single steps if the pipeline does not support chunks."""
        whole = self._loaded.postprocessor(chunk)
        if whole.ndim != 3:
            whole = torch.stack([self._loaded.postprocessor(chunk[:, step]) for step in range(chunk.shape[1])], dim=1)
        return whole.float().numpy(force=True)

    def _step(self, request: Request) -> Answer:
        """Call `select_action` as LeRobot's own loop does, but only for looks that are read."""
        loaded, memory = self._loaded, request.state
        memory.put_in(loaded.policy)
        queue = action_queue(loaded.policy) if self._kind.mode is Mode.SWAPPED else None
        for look in request.looks[:-1]:  # with an action in the queue, the policy stores the look without planning
            assert queue is not None, "only policies with queues look several times"
            queue.append(torch.zeros(1, self.contract.action_size or 1))
            loaded.policy.select_action(self._one(request, look))
        actions = [loaded.policy.select_action(self._one(request, request.looks[-1]))]
        if queue is not None:
            queue = action_queue(loaded.policy)
            assert queue is not None
            actions += list(queue)
            queue.clear()
        memory.take_out(loaded.policy)
        played = torch.cat([loaded.postprocessor(action) for action in actions]).float().numpy(force=True)
        return Answer(played, self._offsets(len(played)))

    def _one(self, request: Request, look: Look) -> Mapping[str, Any]:
        return self._loaded.preprocessor(_batch([request], [look]))

    def _offsets(self, length: int) -> dict[str, list[int]]:
        """Read every input after the last actions of the chunk, as often as the policy needs."""
        first = max(1, length - self.contract.steps + 1)
        return {name: list(range(first, length + 1)) for name in self.contract.inputs}

    @contextlib.contextmanager
    def _autocast(self) -> Iterator[None]:
        if not getattr(self._loaded.config, "use_amp", False):
            yield
            return
        with torch.autocast(self._loaded.device.partition(":")[0]):
            yield


def _contract(loaded: Loaded, kind: Any, name: str, path: str) -> Contract:
    config = loaded.config
    features = {key: feature for key, feature in (config.input_features or {}).items() if FILLED_IN not in key}
    if not features or "action" not in (config.output_features or {}):
        raise BackendError(
            f"{loaded.folder / 'config.json'} does not list the policy's inputs and its action; it needs both"
        )
    shapes: dict[str, tuple[int, ...] | None] = {key: tuple(feature.shape) for key, feature in features.items()}
    images = tuple(key for key, shape in shapes.items() if shape is not None and len(shape) == 3)
    for key in images:
        channels, height, width = shapes[key] or ()
        shapes[key] = None if kind.resizes else (height, width, channels)
    import lerobot

    return Contract(
        id=name,
        inputs=shapes,
        images=images,
        steps=int(getattr(config, "n_obs_steps", 1) or 1) if kind.mode is Mode.SWAPPED else 1,
        action_size=int(config.output_features["action"].shape[0]),
        episodes=1 if kind.mode is Mode.ALONE else None,
        repeatable=kind.mode is not Mode.BATCHED,
        about={
            "type": config.type,
            "path": path,
            "mode": kind.mode.value,
            "why": kind.why,
            "device": loaded.device,
            "lerobot": str(getattr(lerobot, "__version__", "unknown")),
            "torch": torch.__version__,
        },
    )


def _batch(requests: Sequence[Request], looks: Sequence[Look]) -> dict[str, Any]:
    """Make a batch as LeRobot's evaluation does: images as float 0…1 with channels first, states as float32."""
    batch: dict[str, Any] = {"task": [request.episode.instruction for request in requests]}
    for name in looks[0].values:
        values = torch.from_numpy(np.stack([look.values[name] for look in looks]))
        is_image = values.dtype == torch.uint8 and values.ndim == 4
        batch[name] = values.permute(0, 3, 1, 2).float() / 255 if is_image else values.float()
    return batch
