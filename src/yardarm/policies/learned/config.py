"""What a learned policy's ``config.json`` says, in LeRobot's words: features, normalisation, sizes."""

from __future__ import annotations

import dataclasses
import enum
import logging
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import draccus

from yardarm.config import misfit_text, refuse_boolean
from yardarm.errors import UsageError, nearest, one_line
from yardarm.hub import Repositories
from yardarm.policies.options import OptimizerOptions, SchedulerOptions

__all__ = ["FeatureType", "NormalizationMode", "PolicyConfig", "PolicyFeature", "require"]

logger = logging.getLogger(__name__)

ACTION = "action"
ACTION_PADDING = "action_is_pad"
STATE = "observation.state"
ENVIRONMENT_STATE = "observation.environment_state"
# Options of whoever loads a policy: not in ``config.json``, but what somebody who mistypes one may mean.
LOADERS_OPTIONS = ("allow_missing_stats", "dtype", "hub_dir", "rename_map", "resize_images", "self_test")


class FeatureType(enum.Enum):
    """What kind of thing a feature is; it decides how the feature is normalised."""

    VISUAL = "VISUAL"
    STATE = "STATE"
    ENV = "ENV"
    ACTION = "ACTION"
    REWARD = "REWARD"
    LANGUAGE = "LANGUAGE"


class NormalizationMode(enum.Enum):
    """How a feature is brought to a common scale."""

    IDENTITY = "IDENTITY"
    MEAN_STD = "MEAN_STD"
    MIN_MAX = "MIN_MAX"
    QUANTILES = "QUANTILES"
    QUANTILE10 = "QUANTILE10"


@dataclass(frozen=True)
class PolicyFeature:
    """One input or output of a policy; images are (channel, height, width)."""

    type: FeatureType
    shape: tuple[int, ...]


@dataclass
class PolicyConfig:
    """What all learned policies share; a subclass is one architecture. Fields that only a trainer reads are kept."""

    type: ClassVar[str]
    step_options: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Options that a step of the preprocessor follows, and which step and setting that is; it must have the step."""

    n_obs_steps: int = 1
    input_features: dict[str, PolicyFeature] = field(default_factory=dict)
    output_features: dict[str, PolicyFeature] = field(default_factory=dict)
    normalization_mapping: dict[str, NormalizationMode] = field(default_factory=dict)
    device: str | None = None
    use_amp: bool = False
    use_peft: bool = False
    push_to_hub: bool = True
    repo_id: str | None = None
    private: bool | None = None
    tags: list[str] | None = None
    license: str | None = None
    pretrained_path: str | None = None
    pretrained_revision: str | None = None

    @property
    def images(self) -> dict[str, PolicyFeature]:
        """The cameras, in the order in which the network reads them."""
        return {name: feature for name, feature in self.input_features.items() if feature.type is FeatureType.VISUAL}

    @property
    def state(self) -> PolicyFeature | None:
        """The robot's own state."""
        return self.input_features.get(STATE)

    @property
    def environment_state(self) -> PolicyFeature | None:
        """The state of the environment, where a policy may know it."""
        return self.input_features.get(ENVIRONMENT_STATE)

    @property
    def read_features(self) -> dict[str, PolicyFeature]:
        """The inputs that the network reads; a dataset may have had others, which LeRobot lists too."""
        return {
            name: feature
            for name, feature in self.input_features.items()
            if name in self.images or name in (STATE, ENVIRONMENT_STATE)
        }

    @property
    def action_size(self) -> int:
        """How many numbers an action has."""
        return self.output_features[ACTION].shape[0]

    @property
    def chunk_length(self) -> int:
        """How many actions one inference predicts that could be played."""
        raise NotImplementedError

    @property
    def n_action_steps(self) -> int:
        """How many of them are played before the policy looks again; for most policies it is an option."""
        return self.chunk_length

    @property
    def observation_offsets(self) -> tuple[int, ...] | None:
        """The steps of each observation that a training sample has, from the current one; None: that one alone."""
        return None

    @property
    def action_offsets(self) -> tuple[int, ...]:
        """The steps of the actions that a training sample has, from the current one."""
        return tuple(range(self.chunk_length))

    @property
    def frames_left_out(self) -> int:
        """How many frames at the end of each episode start no training sample."""
        return 0

    def check_trainable(self) -> None:
        """Refuse what a policy may have been trained with elsewhere, and cannot be here."""

    def optimizer_preset(self) -> OptimizerOptions:
        """The optimiser that the policy is best trained with."""
        return OptimizerOptions()

    def scheduler_preset(self) -> SchedulerOptions:
        """How its learning rate changes."""
        return SchedulerOptions()

    def learning_rates(self) -> dict[str, float]:
        """Learning rates of parts, by the beginnings of their parameters' names."""
        return {}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], overrides: Mapping[str, Any], source: str) -> Self:
        """Read a checkpoint's configuration. Overrides must be known fields; unknown fields of the file are ignored."""
        known = {known.name for known in dataclasses.fields(cls)}
        hints = typing.get_type_hints(cls)
        for name, value in overrides.items():
            if name not in known:
                hint = nearest(name, (*known, *LOADERS_OPTIONS))
                others = f" they have {', '.join(sorted(known))}" if hint == ";" else ""
                raise UsageError(f"--policy.{name}: policies of type '{cls.type}' have no such option{hint}{others}")
            refuse_boolean(f"--policy.{name}", hints[name], value)  # a flag without a value is true
        for name in set(data) - known - {"type"}:
            logger.debug("%s: unknown field '%s' is ignored", source, name)
        fields = {name: value for name, value in {**data, **overrides}.items() if name in known}
        # LeRobot writes a flag as 0 or 1 where it declares it as a number.
        flags = {known.name for known in dataclasses.fields(cls) if known.type == "bool"} & fields.keys()
        fields |= {name: bool(fields[name]) for name in flags if fields[name] in (0, 1)}
        try:
            config = draccus.decode(cls, fields)
        except draccus.utils.DecodingError as error:
            name, text = misfit_text(error, hints, fields)
            if name in overrides:
                raise UsageError(f"--policy.{name} {text}") from error
            raise UsageError(f"{source} does not fit policies of type '{cls.type}': '{name}' {text}") from error
        try:
            config.check()
        except UsageError as error:
            raise UsageError(f"{source}: {error}") from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # a nothing or a zero somewhere
            raise UsageError(f"{source} has a value that cannot work: {one_line(error)}") from error
        return config

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads, and LeRobot too."""
        return {"type": self.type, **draccus.encode(self)}

    def check_changes(self, stored: Mapping[str, Any], folder: Path) -> None:
        """Refuse options that are not those of a checkpoint's ``config.json``, and would have no effect on it."""

    def complete(self, repositories: Repositories, folder: Path | None) -> None:
        """Read what ``config.json`` only names, such as another model's sizes, before the network is made.

        `folder` is the checkpoint's, where `side_files` are; a new policy has none.
        """

    def side_files(self) -> Mapping[str, bytes]:
        """Files that a checkpoint keeps beside ``config.json``, because LeRobot's has no room for their content."""
        return {}

    def essence(self) -> Mapping[str, bytes]:
        """What a policy's answers follow from in its `side_files`: the rest must not change the policy's id."""
        return self.side_files()

    def check(self) -> None:
        """Refuse what cannot work, naming it."""
        require(ACTION in self.output_features, f"output_features has no '{ACTION}', only {list(self.output_features)}")
        require(len(self.output_features[ACTION].shape) == 1, "the action must be a flat vector")
        for name, feature in self.input_features.items():
            if feature.type is FeatureType.VISUAL:
                fits = len(feature.shape) == 3 and feature.shape[0] == 3
                require(fits, f"'{name}' must have the shape (3, height, width), not {feature.shape}")
            elif name in self.read_features:
                require(len(feature.shape) == 1, f"'{name}' must be a flat vector, not of shape {feature.shape}")
            else:
                logger.debug("input '%s' is not read by policies of type '%s'", name, self.type)

    def check_sees_the_scene(self) -> None:
        """Refuse inputs that say nothing of what is around the robot."""
        require(
            bool(self.images) or self.environment_state is not None,
            f"input_features must hold an image or '{ENVIRONMENT_STATE}', not only {list(self.input_features)}",
        )


def require(condition: bool, message: str) -> None:
    """Raise a `UsageError` unless a condition holds."""
    if not condition:
        raise UsageError(message)
