"""What learned policies share: a network between two pipelines, asked in batches, with no memory of its own."""

from __future__ import annotations

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.errors import UsageError, nearest, one_line
from yardarm.machine import available_memory, total_memory_gb, working_instructions
from yardarm.policies.batching import BatchedPolicy, Batching, Observations
from yardarm.policies.checkpoint import push_checkpoint, save_checkpoint
from yardarm.policies.learned.config import ACTION, PolicyConfig
from yardarm.policies.learned.tuning import choose_batching, made_up
from yardarm.policies.learned.weights import Weights
from yardarm.policies.networks.tensors import add_to_digest, as_tensor
from yardarm.policies.processing import (
    TASK_VECTOR,
    Batch,
    Pipeline,
    Rename,
    Statistics,
    Step,
    TaskVector,
    ToDevice,
    modes_of,
    unconditioned_features,
)
from yardarm.policies.protocol import ObservationSpec, Request
from yardarm.tasks import EpisodeSpec, TaskSpec

if TYPE_CHECKING:
    from yardarm.policies.adapters import Adapter

__all__ = ["LearnedPolicy", "Placement", "choose_device", "choose_dtype"]

# Fields of a configuration that do not change what a policy does.
NO_MATTER = {
    "device",
    "push_to_hub",
    "repo_id",
    "private",
    "tags",
    "license",
    "pretrained_path",
    "pretrained_revision",
}
DEVICES = ("cpu", "cuda", "mps", "xpu")
# Here for those who call Yardarm from Python; oneDNN reads it when it first computes.
os.environ.update({name: value for name, value in working_instructions().items() if name not in os.environ})

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and how a network computes."""

    device: torch.device
    dtype: torch.dtype = torch.float32
    resize_images: bool = False
    """Whether images of another size than the policy was trained with are resized, or refused."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a policy came from: a folder or a Hub id, and its version there."""

    path: str | None = None
    commit: str | None = None


class LearnedPolicy(BatchedPolicy):
    """A network with its pipelines; a subclass is one architecture."""

    config_class: ClassVar[type[PolicyConfig]]
    network_class: ClassVar[type[nn.Module]]
    objective_class: ClassVar[type[Any]]
    """What is trained: made of configuration and network, it maps a batch to its losses."""
    prefix: ClassVar[str]
    """What LeRobot puts before the names of the network's parameters."""
    adapted: ClassVar[tuple[str, ...]] = ()
    """Ends of the names of layers that get an adapter, unless others are asked for."""
    resize_hint: str = "let images be resized with --policy.resize_images=true"

    def __init__(
        self,
        config: Any,
        network: Any,
        preprocessor: Pipeline,
        postprocessor: Pipeline,
        placement: Placement | None = None,
    ) -> None:
        self.config = config
        self.placement = placement or Placement(choose_device("auto"))
        self.held = Weights(self.placed(network))
        self.preprocessor = preprocessor.ending_on(str(self.placement.device)).to(self.placement.device)
        self.postprocessor = postprocessor.ending_on("cpu").to(self.placement.device)
        self.device_type = self.placement.device.type
        self.source = Source()
        self.adapter: Adapter | None = None
        renamed = self.preprocessor.step(Rename) or Rename()
        self.told = self.preprocessor.step(TaskVector)
        # A part of what the network reads may be the task's vector, which no environment offers.
        self.seen = unconditioned_features(config.read_features, self.told.size) if self.told else config.read_features
        renamed.check(self.seen)
        self.cameras = tuple(renamed.before(name) for name in config.images)
        self.wants = self._observation_spec(renamed)
        self.action_size = config.action_size

    def placed(self, network: Any) -> Any:
        """A network where and how this policy computes."""
        return network.to(self.placement.device, self.placement.dtype, memory_format=torch.channels_last).eval()

    @property
    def network(self) -> Any:
        """What computes; it is loaded again if it was released."""
        return self.held.network

    @property
    def weight_bytes(self) -> int:
        """What `release` frees."""
        return self.held.size

    @property
    def free_bytes(self) -> int:
        """What is free where the weights are."""
        if self.placement.device.type == "cuda":
            return torch.cuda.mem_get_info(self.placement.device)[0]
        return available_memory() or int(total_memory_gb() * 2**29)  # nobody says: half of all there is

    @property
    def released(self) -> bool:
        """Whether the weights are gone, for now; those with an adapter stay."""
        return self.held.released

    def release(self) -> None:
        """Let go of the weights until the policy is asked again."""
        self.held.release()

    @property
    def architecture(self) -> str:
        """A name that policies share whose networks differ in nothing but their numbers."""
        content = [self._settings(), self.row_shapes(), str(self.placement.device), str(self.placement.dtype)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _observation_spec(self, renamed: Rename) -> ObservationSpec:
        """What the environment must offer, by its own names and with channels last, as it gives them."""
        own_names = {renamed.before(name): name for name in self.seen}
        shapes = {name: self.seen[own].shape for name, own in own_names.items()}
        shapes |= {name: (*shapes[name][1:], shapes[name][0]) for name in self.cameras}
        return ObservationSpec(
            inputs=tuple(shapes),
            steps=min(self.config.n_obs_steps, self.config.n_action_steps),
            shapes=shapes,
            resizable=self.cameras if self.placement.resize_images else (),
            own_names=own_names,
        )

    def prepare(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuse tasks that the policy cannot be told."""
        for task in tasks:
            self.telling(task)

    def start(self, episode: EpisodeSpec) -> Any:
        """Refuse its task, too: a server hears of tasks when their episodes start."""
        self.prepare([episode.task])
        return super().start(episode)

    def row(self, request: Request) -> Mapping[str, np.ndarray]:
        """What was seen last, and what the task is."""
        return {**super().row(request), **self.telling(request.episode.task)}

    def telling(self, task: TaskSpec) -> dict[str, np.ndarray]:
        """What the network is told of the task, if anything."""
        return {TASK_VECTOR: self.told.of(task)} if self.told else {}

    @abstractmethod
    def forward(self, inputs: Batch) -> Tensor:
        """Predict normalised chunks (batch, time, action) from normalised inputs; the first action is the next one."""

    def predict(self, observations: Observations) -> np.ndarray:
        """Chunks (batch, time, action) in the environment's units for raw observations (batch, …)."""
        self._check(observations)
        with torch.inference_mode(), self.batching.fixed_threads(), self._autocast():
            seen = {name: as_tensor(value, self.placement.device) for name, value in observations.items()}
            inputs = self.preprocessor(self._resized(seen))
            inputs = {name: value.to(self.placement.dtype) for name, value in inputs.items()}
            actions = self.forward(inputs).float()
            return self.postprocessor({ACTION: actions})[ACTION].numpy(force=True)

    def choose_batching(self, cores: int) -> Batching:
        """Measured once for a run."""
        return choose_batching(
            self, lambda rows: made_up(self.row_shapes(), self.cameras, rows), self.placement.device, cores
        )

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of what `row` gives."""
        return {**self.wants.shapes, **({TASK_VECTOR: (self.told.size,)} if self.told else {})}

    @property
    def id(self) -> str:
        """A name by content: equal for equal weights, pipelines and options, wherever they lie."""
        digest = hashlib.sha256(json.dumps(self._identity(), sort_keys=True).encode())
        for tensors in (self.weights(), *(step.tensors() for step in self._steps())):
            add_to_digest(digest, tensors)
        return f"{self.config.type}-{digest.hexdigest()[:12]}"

    def weights(self) -> Batch:
        """The network's tensors, or its adapter's, by the names that a checkpoint gives them."""
        if self.adapter is not None:
            return self.adapter.tensors()
        return {self.prefix + name: value.contiguous() for name, value in self.network.state_dict().items()}

    def fit_to(self, statistics: Statistics, instructions: Sequence[str]) -> None:
        """Take over the statistics and the tasks of other data, to learn from it."""
        device = self.placement.device
        self.preprocessor = self.preprocessor.with_statistics(statistics).to(device)
        self.postprocessor = self.postprocessor.with_statistics(statistics).to(device)
        if self.told is not None:
            self.told = self.told.knowing(instructions)
            self.preprocessor = self.preprocessor.having(self.told)

    def without_statistics(self) -> list[str]:
        """The inputs and outputs that are not normalised, though they ought to be: nothing knows their scale."""
        modes, answered = modes_of(self.config), {ACTION: self.config.output_features[ACTION]}
        return [
            *self.preprocessor.without_statistics(self.seen, modes),
            *self.postprocessor.without_statistics(answered, modes),
        ]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a checkpoint that Yardarm and LeRobot load."""
        save_checkpoint(self, folder)

    def push_to_hub(self, repo_id: str, *, private: bool | None = None, message: str = "Upload policy") -> str:
        """Upload a checkpoint to the Hugging Face Hub, and return the address of the commit."""
        return push_checkpoint(self, repo_id, private=private, message=message)

    def describe(self) -> dict[str, Any]:
        """What a manifest says of the policy."""
        return {
            "type": self.config.type,
            "path": self.source.path,
            "commit": self.source.commit,
            "parameters": self.held.parameters,
            "device": str(self.placement.device),
            "dtype": str(self.placement.dtype).removeprefix("torch."),
            **(self.adapter.describe() if self.adapter else {}),
        }

    def _identity(self) -> list[Any]:
        """What changes the answers, besides tensors."""
        steps = [[step.name, step.to_json()] for step in self._steps()]
        adapted = [self.adapter.identity()] if self.adapter else []
        return [self._settings(), steps, str(self.placement.dtype), self.placement.resize_images, *adapted]

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.config.to_json().items() if name not in NO_MATTER}

    def _steps(self) -> list[Step]:
        steps = [*self.preprocessor.steps, *self.postprocessor.steps]
        return [step for step in steps if not isinstance(step, ToDevice)]

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.placement.device.type) if self.config.use_amp else nullcontext()

    def _check(self, observations: Observations) -> None:
        """Refuse what the network would misread, or fail on somewhere deep inside."""
        for name, shape in self.row_shapes().items():
            if name not in observations:
                raise UsageError(f"predict: '{name}' is missing; the policy reads {', '.join(self.row_shapes())}")
            value = observations[name]
            if not isinstance(value, np.ndarray):
                raise UsageError(f"predict: '{name}' must be a numpy array, not {type(value).__name__}")
            if name in self.cameras and value.dtype != np.uint8:
                raise UsageError(f"predict: '{name}' must be bytes (height, width, channel), not {value.dtype}")
            if value.shape[1:] != shape and name not in self.wants.resizable:
                raise UsageError(f"predict: '{name}' must have the shape {('batch', *shape)}, not {value.shape}")

    def _resized(self, seen: Batch) -> Batch:
        """Images in the size that the policy was trained with; most have it already."""
        resized = {}
        for name in self.cameras:
            image, (height, width, _) = seen[name], self.wants.shapes[name]
            if image.shape[-2:] != (height, width):
                flat = F.interpolate(image.flatten(0, -4), (height, width), mode="bilinear", antialias=True)
                resized[name] = flat.unflatten(0, image.shape[:-3])
        return {**seen, **resized}


def choose_device(name: str) -> torch.device:
    """The device of this name; "auto" is the fastest kind that is there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name.partition(":")[0] not in DEVICES:
        raise UsageError(f"--policy.device={name} is unknown; auto, or one of {', '.join(DEVICES)}")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"--policy.device={name} cannot be used here: {one_line(error)[:120]}") from error
    return device


def choose_dtype(name: str) -> torch.dtype:
    """The floating point type of this name."""
    if name not in DTYPES:
        raise UsageError(f"--policy.dtype={name} is unknown{nearest(name, DTYPES)} one of {', '.join(DTYPES)}")
    return DTYPES[name]
