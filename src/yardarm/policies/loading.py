"""From a name and options to a policy, and from a policy to the id that its results are filed under."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, nearest
from yardarm.policies.protocol import Policy
from yardarm.registry import Registry, import_object

__all__ = ["POLICIES", "LoadedPolicy", "PolicySpec", "load_policy", "make_policy"]

POLICIES = Registry(
    "policy",
    "yardarm.policies",
    {
        "expert": "yardarm.policies.scripted:ExpertPolicy",
        "random": "yardarm.policies.scripted:RandomPolicy",
        "zero": "yardarm.policies.scripted:ZeroPolicy",
    },
)


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A policy by name: a registered one, or ``package.module:Name``; and its constructor's options."""

    type: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where the class is."""
        return self.type if ":" in self.type else POLICIES.path(self.type)


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy, how another process can make it too, and the id that its results are filed under."""

    policy: Policy
    spec: PolicySpec
    id: str


def load_policy(source: PolicySpec | Policy) -> LoadedPolicy:
    """Make a policy from its name, or take one that was made already."""
    if isinstance(source, PolicySpec):
        policy = make_policy(source)
        return LoadedPolicy(policy, source, _policy_id(policy, source))
    kind = type(source)
    spec = PolicySpec(f"{kind.__module__}:{kind.__qualname__}")
    _check_protocol(source, spec)
    if source.place == "worker":
        raise UsageError(
            f"{kind.__qualname__} has place 'worker', so workers must be able to make it: "
            f"give its name, '{spec.type}' (in a module, not a script), instead of the object"
        )
    return LoadedPolicy(source, spec, _policy_id(source, spec))


def make_policy(spec: PolicySpec) -> Policy:
    """Import the class, check the options against its constructor, and make the policy."""
    factory = import_object(spec.path)
    _check_options(spec, factory)
    policy = factory(**spec.options)
    _check_protocol(policy, spec)
    return policy


def _check_protocol(policy: Policy, spec: PolicySpec) -> None:
    missing = [name for name in ("wants", "place", "start", "infer") if not hasattr(policy, name)]
    if missing:
        raise UsageError(
            f"policy '{spec.type}' has no {', '.join(missing)}; docs/writing-a-policy.md shows what it needs"
        )
    if policy.place not in ("host", "worker"):
        raise UsageError(f"policy '{spec.type}' has place '{policy.place}'; it must be 'host' or 'worker'")


def _policy_id(policy: Policy, spec: PolicySpec) -> str:
    """Name a policy by what it is: its own `id`, or the hash of its source and options."""
    own = getattr(policy, "id", None)
    if own is not None:
        return str(own)
    source = inspect.getsourcefile(type(policy))
    content = Path(source).read_bytes() if source and Path(source).is_file() else spec.path.encode()
    digest = hashlib.sha256(content)
    digest.update(json.dumps(dict(spec.options), sort_keys=True, default=str).encode())
    return f"{spec.type}-{digest.hexdigest()[:12]}"


def _check_options(spec: PolicySpec, factory: Any) -> None:
    parameters = inspect.signature(factory).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in parameters]
    for name in spec.options:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has no options"
            raise UsageError(f"policy '{spec.type}' has no option '{name}'{nearest(name, known)} {has}")
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.name not in spec.options:
            raise UsageError(f"policy '{spec.type}' needs --policy.{parameter.name}=…")
