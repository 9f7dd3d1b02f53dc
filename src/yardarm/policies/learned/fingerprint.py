"""What a policy answered when it was saved, so that loading notices if it answers something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Self

import numpy as np

from yardarm.errors import UsageError, one_line

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["FINGERPRINT", "Fingerprint", "check_fingerprint"]

FINGERPRINT = "fingerprint.json"
FORMAT = 2
SHOWN = 32
# Another machine changes the last bits, which ten steps of a sampler multiply; a mistake changes far more. As parts of
# the size of the answer.
TOLERANCES = {"float32": 0.01, "bfloat16": 0.1, "float16": 0.1}
PACKAGES = ("torch", "transformers")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The answer to a made-up observation, and where and with what it was computed."""

    values: tuple[float, ...]
    """Its first numbers."""
    norm: float
    """The root of the sum of the squares of all."""
    count: int
    """How many there are."""
    device: str
    dtype: str
    versions: Mapping[str, str | None]

    @classmethod
    def of(cls, policy: LearnedPolicy) -> Self:
        """Ask the policy for one row."""
        answer = _answer(policy).astype(np.float64).ravel()
        dtype = str(policy.placement.dtype).removeprefix("torch.")
        versions = {name: _version(name) for name in PACKAGES}
        values = tuple(answer[:SHOWN].tolist())
        return cls(values, float(np.linalg.norm(answer)), answer.size, policy.device_type, dtype, versions)

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read what `to_json` gave."""
        data = json.loads(content)
        if data.pop("format") != FORMAT:
            raise ValueError("it has another format")
        if not isinstance(data["versions"], dict):
            raise ValueError("its versions are no mapping")
        return cls(**{**data, "values": tuple(map(float, data["values"])), "norm": float(data["norm"])})

    def to_json(self) -> bytes:
        """What a checkpoint keeps, in full precision."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2).encode()

    def difference(self, other: Self) -> float:
        """How far apart two answers are, as a part of their size; infinity if they cannot be of one policy."""
        if (self.count, len(self.values)) != (other.count, len(other.values)):
            return float("inf")
        size = max(self.norm, other.norm) / np.sqrt(self.count)
        apart = np.abs(np.subtract(self.values, other.values)).max()
        overall = abs(self.norm - other.norm) / np.sqrt(self.count)
        return float(max(apart, overall) / size) if size else 0.0


def _answer(policy: LearnedPolicy) -> np.ndarray:
    """With all cameras, and as in an evaluation, whatever the policy is doing at the moment."""
    cameras, modules = policy.cameras, [(module, module.training) for module in policy.network.modules()]
    policy.see_with(policy.all_cameras)
    policy.network.eval()
    try:
        # Normalised: far from zero, actions in the environment's units would hide what has changed.
        return policy.normalized_chunks(policy.architecture.example(policy, 1)).numpy(force=True)
    finally:
        policy.see_with(cameras)
        for module, training in modules:  # parts that are frozen may be in another mode than the rest
            module.training = training


def check_fingerprint(policy: LearnedPolicy, content: bytes, source: str) -> None:
    """Refuse a policy that answers otherwise than when it was saved, if that was on the same kind of device."""
    try:
        stored = Fingerprint.from_json(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{source} is damaged: {one_line(error)}; delete it to load the policy without it") from error
    dtype = str(policy.placement.dtype).removeprefix("torch.")
    if (stored.device, stored.dtype) != (policy.device_type, dtype):
        return
    now = Fingerprint.of(policy)
    apart = now.difference(stored)
    if apart <= TOLERANCES.get(dtype, max(TOLERANCES.values())):
        return
    changed = [
        f"{name} {was} then, {now.versions.get(name)} now"
        for name, was in stored.versions.items()
        if was != now.versions.get(name)
    ]
    raise UsageError(
        f"the policy gives other answers than when {source} was saved: they differ by {100 * apart:.3g}% of their size"
        f"{''.join(f'; {text}' for text in changed)}; --policy.self_test=false loads it all the same"
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
