"""What learned policies share: a network between two pipelines, asked in batches, with no memory of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from yardarm.machine import available_memory, total_memory_gb
from yardarm.policies.batching import BatchedPolicy, Batching, Observations, Row
from yardarm.policies.checkpoint import UnusedTensors, push_checkpoint, save_checkpoint
from yardarm.policies.learned.config import ACTION, STATE, PolicyFeature
from yardarm.policies.learned.fingerprint import FINGERPRINT, Fingerprint
from yardarm.policies.learned.inputs import check_observations, resized
from yardarm.policies.learned.placement import Placement, choose_device
from yardarm.policies.learned.state import EpisodeState
from yardarm.policies.learned.tuning import choose_batching
from yardarm.policies.learned.weights import Weights
from yardarm.policies.networks.tensors import add_to_digest, as_tensor, image_tensor
from yardarm.policies.processing import (
    RELATIVE_TO,
    TASK_VECTOR,
    Processing,
    ProcessorStep,
    RelativeActions,
    Rename,
    Statistics,
    TaskVector,
    Tensors,
    ToDevice,
    modes_of,
    tensors_of,
    unconditioned_features,
)
from yardarm.policies.protocol import ActionChunk, ObservationSpec, Request
from yardarm.policies.traits import Traits
from yardarm.tasks import EpisodeSpec, TaskSpec, no_instruction

if TYPE_CHECKING:
    from yardarm.policies.adapters import Adapter
    from yardarm.policies.learned.architecture import Architecture

__all__ = ["LearnedPolicy", "PolicySource"]

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
RESIZE_HINT = "let images be resized with --policy.resize_images=true"


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Where a policy came from: a folder or a Hub id, and its version there."""

    path: str | None = None
    commit: str | None = None


class LearnedPolicy(BatchedPolicy):
    """A network with its pipelines. It looks, plays the first `n_action_steps` of a chunk, and looks again.

    A subclass does otherwise: it may read more than the last look (`start`, `row`, `row_shapes`), call the network in
    its own way (`forward`), or play other actions (`answer`).
    """

    fits_images = False
    """Whether the network brings images of any size to its own."""

    def __init__(
        self,
        architecture: Architecture,
        config: Any,
        network: Any,
        processing: Processing,
        placement: Placement | None = None,
    ) -> None:
        self.architecture = architecture
        self.config = config
        self.placement = placement or Placement(choose_device("auto"))
        self.weights = Weights(self.placed(network))
        device = self.placement.device
        self.preprocessor = processing.preprocessor.ending_on(str(device)).to(device)
        self.postprocessor = processing.postprocessor.ending_on("cpu").to(device)
        self.device_type = device.type
        self.source = PolicySource()
        self.adapter: Adapter | None = None
        self.unused = UnusedTensors()
        renamed = self.preprocessor.step(Rename) or Rename()
        vector = self.task_vector
        # A part of what the network reads may be the task's vector, which no environment offers.
        read = config.read_features
        self.observed_features = unconditioned_features(read, vector.size) if vector else read
        renamed.check(self.observed_features)
        self.all_cameras = tuple(renamed.before(name) for name in config.images if name in read)
        self.see_with(self.all_cameras)

    def see_with(self, cameras: Sequence[str]) -> None:
        """Read these cameras, by the environment's names; most policies need all that they have."""
        self.cameras = tuple(cameras)
        self.wants = self._observation_spec(self.preprocessor.step(Rename) or Rename())

    def see_what_is_there(self, offered: Container[str]) -> None:
        """Do without cameras that are missing: most policies cannot."""

    def adapt_to(self, features: Mapping[str, PolicyFeature]) -> None:
        """Take over the shapes of other data, by the policy's names, before `fit_to`: most networks read only one."""

    def placed(self, network: Any) -> Any:
        """A network where and how this policy computes."""
        return network.to(self.placement.device, self.placement.dtype, memory_format=torch.channels_last).eval()

    @property
    def network(self) -> Any:
        """What computes; it is loaded again if it was released."""
        return self.weights.network

    @property
    def task_vector(self) -> TaskVector | None:
        """The step that tells the network its task by a vector, if there is one."""
        return self.preprocessor.step(TaskVector)

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Its actions' size, and which policies have the same network but for its numbers."""
        content = [self._settings(), self.row_shapes(), str(self.placement.device), str(self.placement.dtype)]
        key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return Traits(action_size=self.config.action_size, resize_hint=RESIZE_HINT, batching_key=key)

    @property
    def weight_bytes(self) -> int:
        """What `release` frees."""
        return self.weights.size

    @property
    def free_bytes(self) -> int:
        """What is free where the weights are."""
        if self.placement.device.type == "cuda":
            return torch.cuda.mem_get_info(self.placement.device)[0]
        return available_memory() or int(total_memory_gb() * 2**29)  # unknown: half of all memory

    @property
    def released(self) -> bool:
        """Whether the weights are released at the moment; those with an adapter stay."""
        return self.weights.released

    def release(self) -> None:
        """Release the weights until the policy is asked again."""
        self.weights.release()

    def _observation_spec(self, renamed: Rename) -> ObservationSpec:
        """What the environment must offer, by its own names and with channels last, as it gives them."""
        unread = set(self.all_cameras) - set(self.cameras)
        own_names = {renamed.before(name): name for name in self.observed_features}
        own_names = {name: own for name, own in own_names.items() if name not in unread}
        shapes = {name: self.observed_features[own].shape for name, own in own_names.items()}
        shapes |= {name: (*shapes[name][1:], shapes[name][0]) for name in self.cameras}
        return ObservationSpec(
            inputs=tuple(shapes),
            steps=min(self.config.n_obs_steps, self.config.n_action_steps),
            shapes=shapes,
            resizable=self.cameras if self.placement.resize_images or self.fits_images else (),
            own_names=own_names,
            instruction=self.preprocessor.reads_instruction,
        )

    def prepare(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuse tasks that the policy cannot do."""
        for task in tasks:
            self.conditioning(task)

    def start(self, episode: EpisodeSpec) -> EpisodeState:
        """The state of an episode. Its task may be refused here, too: a server hears of it when the episode starts."""
        return EpisodeState(self.conditioning(episode.task))

    def conditioning(self, task: TaskSpec) -> dict[str, np.ndarray]:
        """What follows from the task alone, and is the same in every row of an episode."""
        if self.wants.instruction and not task.instruction and not task.told:
            raise no_instruction(task)
        return self.preprocessor.for_task(task)

    def row(self, request: Request) -> Row:
        """The last look, and what follows from the task."""
        return {**super().row(request), **request.state.conditioning}

    def forward(self, inputs: Tensors) -> Tensor:
        """Predict normalised chunks (batch, time, action) from normalised inputs; the first action is the next one."""
        return self.network(inputs)

    def answer(self, state: Any, chunk: np.ndarray) -> ActionChunk:
        """The chunk's beginning."""
        return ActionChunk(chunk[: self.config.n_action_steps])

    def predict(self, observations: Observations) -> np.ndarray:
        """Chunks (batch, time, action) in the environment's units for raw observations (batch, …)."""
        chunks = self.normalized_chunks(observations)
        answer = self.postprocessor({ACTION: chunks, **self._kept(observations)})[ACTION]
        assert isinstance(answer, Tensor)
        return answer.numpy(force=True)

    def normalized_chunks(self, observations: Observations) -> Tensor:
        """The network's own answer to raw observations, before it is brought to the environment's units."""
        check_observations(self, observations)
        with torch.inference_mode(), self.batching.fixed_threads(), self._autocast():
            batch = {name: self._input(name, value) for name, value in observations.items()}
            seen = batch if self.fits_images else resized(batch, self.wants, self.cameras)
            processed = tensors_of(self.preprocessor(seen))
            return self.forward({name: self._cast(value) for name, value in processed.items()}).float()

    def _kept(self, observations: Observations) -> Tensors:
        """What relative actions are relative to: the state that they were made for, not the latest one."""
        relative = self.preprocessor.step(RelativeActions)
        if relative is None or not relative.enabled:
            return {}
        renamed = self.preprocessor.step(Rename) or Rename()
        state = as_tensor(np.asarray(observations[renamed.before(STATE)]), self.placement.device)
        return {RELATIVE_TO: relative.offset(state.float(), self.config.action_size)}

    def _input(self, name: str, value: np.ndarray | Sequence[str]) -> Tensor | list[str]:
        """Images and vectors are read as float32; whatever else there is keeps its type."""
        if not isinstance(value, np.ndarray):
            return list(value)
        if name in self.cameras:
            return image_tensor(value, self.placement.device)
        tensor = as_tensor(value, self.placement.device)
        return tensor.float() if name in self.wants.shapes else tensor

    def _cast(self, value: Tensor) -> Tensor:
        return value.to(self.placement.dtype) if value.is_floating_point() else value

    def choose_batching(self, cores: int) -> Batching:
        """Measured once for a run."""
        return choose_batching(self, lambda rows: self.architecture.example(self, rows), self.placement.device, cores)

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of what `predict` must be given: the observations, and the task's vector."""
        vector = self.task_vector
        return {**self.wants.shapes, **({TASK_VECTOR: (vector.size,)} if vector else {})}

    @property
    def id(self) -> str:
        """A name by content: equal for equal weights, pipelines and options, wherever they lie."""
        digest = hashlib.sha256(json.dumps(self._identity(), sort_keys=True).encode())
        for tensors in (self.stored_tensors(), *(step.tensors() for step in self._steps())):
            add_to_digest(digest, tensors)
        files = [*self.config.essence().items(), *(item for step in self._steps() for item in step.files().items())]
        for name, content in sorted(files):
            digest.update(name.encode())
            digest.update(content)
        return f"{self.config.type}-{digest.hexdigest()[:12]}"

    def stored_tensors(self) -> Tensors:
        """The network's tensors, or its adapter's, by the names that a checkpoint gives them."""
        if self.adapter is not None:
            return self.adapter.tensors()
        prefix = self.architecture.prefix
        return {prefix + name: value.contiguous() for name, value in self.network.state_dict().items()}

    def fit_to(self, statistics: Statistics, instructions: Sequence[str]) -> None:
        """Take over the statistics and the tasks of other data, to learn from it."""
        device = self.placement.device
        self.preprocessor = self.preprocessor.fitted_to(statistics, instructions).to(device)
        self.postprocessor = self.postprocessor.fitted_to(statistics, instructions).to(device)

    def without_statistics(self) -> list[str]:
        """The inputs and outputs that should be normalised and are not, because their scale is unknown."""
        modes, answered = modes_of(self.config), {ACTION: self.config.output_features[ACTION]}
        return [
            *self.preprocessor.without_statistics(self.observed_features, modes),
            *self.postprocessor.without_statistics(answered, modes),
        ]

    def side_files(self) -> dict[str, bytes]:
        """Files that a checkpoint keeps beside configuration, pipelines and weights."""
        own = {FINGERPRINT: Fingerprint.of(self).to_json()} if self.architecture.fingerprinted else {}
        return {**self.config.side_files(), **own}

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
            "parameters": self.weights.parameters,
            "device": str(self.placement.device),
            "dtype": str(self.placement.dtype).removeprefix("torch."),
            **(self.adapter.describe() if self.adapter else {}),
        }

    def _identity(self) -> list[Any]:
        """What changes the answers, besides tensors and files."""
        steps = [[step.name, step.to_json()] for step in self._steps()]
        adapted = [self.adapter.identity()] if self.adapter else []
        return [self._settings(), steps, str(self.placement.dtype), self.placement.resize_images, *adapted]

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.config.to_json().items() if name not in NO_MATTER}

    def _steps(self) -> list[ProcessorStep]:
        steps = [*self.preprocessor.steps, *self.postprocessor.steps]
        return [step for step in steps if not isinstance(step, ToDevice)]

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.placement.device.type) if self.config.use_amp else nullcontext()
