"""To a common scale and back, with the statistics of the data that a policy was trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from yardarm.errors import UsageError
from yardarm.policies.learned.config import ACTION, FeatureType, NormalizationMode, PolicyFeature
from yardarm.policies.processing.steps import Batch, ProcessorStep, Statistics, Tensors

__all__ = ["Normalize", "Unnormalize"]

# What a mode reads: a middle and a width, or the two values that become -1 and 1.
READS = {
    NormalizationMode.MEAN_STD: ("mean", "std"),
    NormalizationMode.MIN_MAX: ("min", "max"),
    NormalizationMode.QUANTILES: ("q01", "q99"),
    NormalizationMode.QUANTILE10: ("q10", "q90"),
}


@dataclass(frozen=True, slots=True)
class _Scale:
    """An affine map. A range is kept as its lower end and its width, which stays exact where the width is tiny."""

    offset: Tensor
    width: Tensor
    is_range: bool

    def normalized(self, value: Tensor, eps: float) -> Tensor:
        offset, width = self.offset.to(value.device), self.width.to(value.device)
        return 2 * (value - offset) / width - 1 if self.is_range else (value - offset) / (width + eps)

    def unnormalized(self, value: Tensor) -> Tensor:
        offset, width = self.offset.to(value.device), self.width.to(value.device)
        return ((value + 1) / 2 if self.is_range else value) * width + offset


@dataclass(frozen=True)
class _Normalization(ProcessorStep):
    """Both directions' settings. A feature without statistics passes unchanged; `lacks` says so."""

    features: Mapping[str, PolicyFeature]
    modes: Mapping[FeatureType, NormalizationMode]
    statistics: Statistics
    eps: float = 1e-8
    only: tuple[str, ...] | None = None
    """The observations to treat, if not all."""
    scales: dict[str, _Scale] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, feature in self._treated().items():
            mode = self._mode(name, feature)
            if mode is not NormalizationMode.IDENTITY and name in self.statistics:
                self.scales[name] = self._scale(name, feature, mode)

    def lacks(self, name: str, feature: PolicyFeature) -> bool:
        """Whether a feature passes unchanged, though its mode asks for more."""
        own = self.features.get(name, feature)
        return self._mode(name, own) is not NormalizationMode.IDENTITY and name not in self.scales

    def _mode(self, name: str, feature: PolicyFeature) -> NormalizationMode:
        treated = self.only is None or name in self.only or feature.type is FeatureType.ACTION
        return self.modes.get(feature.type, NormalizationMode.IDENTITY) if treated else NormalizationMode.IDENTITY

    def _treated(self) -> dict[str, PolicyFeature]:
        """The features by name; actions always, even where a file forgets to list them, as in LeRobot."""
        if ACTION in self.features or ACTION not in self.statistics:
            return dict(self.features)
        longest = max(self.statistics[ACTION].values(), key=torch.numel)  # beside a count, which is a single number
        return {**self.features, ACTION: PolicyFeature(FeatureType.ACTION, tuple(longest.shape))}

    def _scale(self, name: str, feature: PolicyFeature, mode: NormalizationMode) -> _Scale:
        first, second = (self._statistic(name, feature, statistic) for statistic in READS[mode])
        if mode is NormalizationMode.MEAN_STD:
            return _Scale(first, second, is_range=False)
        width = second - first
        return _Scale(first, torch.where(width == 0, self.eps, width), is_range=True)

    def _statistic(self, name: str, feature: PolicyFeature, statistic: str) -> Tensor:
        known = self.statistics[name]
        if statistic not in known:
            raise UsageError(f"the statistics of '{name}' lack '{statistic}'; they have {', '.join(known)}")
        value = known[statistic].float()
        if not value.isfinite().all():
            raise UsageError(f"the statistic '{statistic}' of '{name}' has values that are not finite")
        if feature.type is FeatureType.VISUAL and value.ndim == 1:
            value = value[:, None, None]
        try:
            value.broadcast_to(feature.shape)
        except RuntimeError:
            raise UsageError(
                f"the statistic '{statistic}' of '{name}' has the shape {tuple(value.shape)}, "
                f"which does not fit {feature.shape}"
            ) from None
        return value

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read features and modes; the statistics are tensors named ``feature.statistic``."""
        statistics: dict[str, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            feature, _, statistic = name.rpartition(".")
            statistics.setdefault(feature, {})[statistic] = value
        features = {
            name: PolicyFeature(FeatureType(feature["type"]), tuple(feature["shape"]))
            for name, feature in config["features"].items()
        }
        modes = {FeatureType(kind): NormalizationMode(mode) for kind, mode in config["norm_map"].items()}
        only = config.get("normalize_observation_keys")
        return cls(features, modes, statistics, config.get("eps", 1e-8), None if only is None else tuple(only))

    def to_json(self) -> dict[str, Any]:
        """Write features and modes."""
        config: dict[str, Any] = {
            "eps": self.eps,
            "features": {
                name: {"type": feature.type.value, "shape": list(feature.shape)}
                for name, feature in self.features.items()
            },
            "norm_map": {kind.value: mode.value for kind, mode in self.modes.items()},
        }
        if self.only is not None:
            config["normalize_observation_keys"] = sorted(self.only)
        return config

    def tensors(self) -> Tensors:
        """The statistics, all of them, whatever the modes read; copied, because no file may hold shared memory."""
        return {
            f"{name}.{statistic}": value.cpu().clone()
            for name, known in self.statistics.items()
            for statistic, value in known.items()
        }

    def to(self, device: torch.device) -> Self:
        """With the statistics on the device of the values."""
        moved = {
            name: {statistic: value.to(device) for statistic, value in known.items()}
            for name, known in self.statistics.items()
        }
        return replace(self, statistics=moved)

    def fitted_to(self, statistics: Statistics, instructions: Sequence[str]) -> Self:
        """With the statistics of other data."""
        return replace(self, statistics=statistics)

    def _rescaled(self, batch: Batch, rescale: Callable[[_Scale, Tensor], Tensor]) -> Batch:
        """Treat what is there, and has a scale."""
        treated = {name: batch[name] for name in self.scales if name in batch}
        numbers = {name: value for name, value in treated.items() if isinstance(value, Tensor)}
        return {**batch, **{name: rescale(self.scales[name], value) for name, value in numbers.items()}}


@dataclass(frozen=True)
class Normalize(_Normalization):
    """From the world's values to a policy's: to mean 0 and deviation 1, or to -1…1."""

    name: ClassVar[str] = "normalizer_processor"

    def __call__(self, batch: Batch) -> Batch:
        """Treat what is there."""
        return self._rescaled(batch, lambda scale, value: scale.normalized(value, self.eps))


@dataclass(frozen=True)
class Unnormalize(_Normalization):
    """From a policy's values to the world's."""

    name: ClassVar[str] = "unnormalizer_processor"

    def __call__(self, batch: Batch) -> Batch:
        """Treat what is there."""
        return self._rescaled(batch, lambda scale, value: scale.unnormalized(value))
