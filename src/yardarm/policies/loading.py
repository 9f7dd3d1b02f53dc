"""From a name and options to a policy, and from a policy to the id that its results are filed under."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import logging
import pickle
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from yardarm.errors import UsageError, nearest, one_line
from yardarm.policies.plain.adapting import adapted
from yardarm.policies.protocol import ObservationSpec, Policy
from yardarm.policies.traits import Hooks, Traits, hooks_of, own_id, traits_of
from yardarm.registry import Registry, import_object
from yardarm.secrecy import without_secrets
from yardarm.tasks import TaskSpec

__all__ = [
    "ARCHITECTURES",
    "POLICIES",
    "ForeignCheckpoint",
    "LoadedPolicy",
    "PolicySpec",
    "make_policy",
    "open_policy",
    "policy_id",
]

log = logging.getLogger(__name__)

# How long a policy may take to stop a server of its own.
CLOSE_LIMIT_S = 60.0

POLICIES = Registry(
    "policy",
    "yardarm.policies",
    {
        "expert": "yardarm.policies.scripted:ExpertPolicy",
        "pretrained": "yardarm.policies.learned.loading:load_policy",
        "lerobot": "yardarm.policies.remote:LeRobotPolicy",
        "metaworld-smolvla": "yardarm.policies.shipped:metaworld_smolvla",
        "mt10-act": "yardarm.policies.shipped:mt10_act",
        "random": "yardarm.policies.scripted:RandomPolicy",
        "remote": "yardarm.policies.remote:RemotePolicy",
        "zero": "yardarm.policies.scripted:ZeroPolicy",
    },
)

# Kinds of learned policies, by the types that checkpoints name; `pretrained` loads them all.
ARCHITECTURES = Registry(
    "architecture",
    "yardarm.architectures",
    {
        "act": "yardarm.policies.act:ACT",
        "diffusion": "yardarm.policies.diffusion:DIFFUSION",
        "pi0": "yardarm.policies.pi0:PI0",
        "pi05": "yardarm.policies.pi05:PI05",
        "smolvla": "yardarm.policies.smolvla:SMOLVLA",
    },
)

# What runs LeRobot's other types.
LEROBOTS_HOME = "an environment that has lerobot, msgpack and websockets"

# The type of a policy that was given as an object: no other process can make it.
OBJECT = "object:"


class ForeignCheckpoint(UsageError):
    """A checkpoint of a type that is not installed here. What to do instead depends on what was asked for."""

    def __init__(self, source: str, kind: str, advice: str = "") -> None:
        self.source, self.kind = source, kind
        advice = advice or (
            "evaluate yardarm.policies.PolicySpec('lerobot', {'path': …, 'python': PATH}) in its place, where PATH is "
            f"the Python of {LEROBOTS_HOME}"
        )
        known = ARCHITECTURES.names()
        super().__init__(
            f"{source} is of a policy of type '{kind}', which is not installed here{nearest(kind, known)} there are "
            f"{', '.join(known)}; if it is LeRobot's, {advice}; if it is your own, name its module: "
            "--policy.type=MODULE:NAME"
        )

    def advising(self, advice: str) -> Self:
        """The same with other advice."""
        return type(self)(self.source, self.kind, advice)


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
    traits: Traits
    hooks: Hooks

    @classmethod
    def prepared(cls, policy: Policy, spec: PolicySpec, tasks: Sequence[TaskSpec]) -> Self:
        """Show a policy its tasks if it wants to see them, and read what it says of itself."""
        hooks = hooks_of(policy)
        if hooks.prepare is not None:
            hooks.prepare(tasks)
        return cls(policy, spec, policy_id(policy, spec), traits_of(policy), hooks)

    @property
    def can_be_made_again(self) -> bool:
        """Whether its spec is enough to make it, in any process."""
        return not self.spec.type.startswith(OBJECT)

    def describe(self) -> dict[str, Any]:
        """What a manifest says of it."""
        described = self.hooks.describe() if self.hooks.describe is not None else {}
        return {"id": self.id, "type": self.spec.type, **described}


@contextlib.contextmanager
def open_policy(
    source: PolicySpec | Policy, tasks: Sequence[TaskSpec] = (), rename_map: Mapping[str, str] | None = None
) -> Iterator[LoadedPolicy]:
    """Make a policy from its name, or take one that was made already; one that was made here is closed afterwards.

    A policy that wants to is shown the tasks first. `rename_map` becomes an option of a policy that is made here.
    """
    if rename_map is not None:
        if not isinstance(source, PolicySpec):
            raise UsageError("rename_map is for policies that are given by name: an object has its names already")
        source = replace(source, options={**source.options, "rename_map": dict(rename_map)})
    with contextlib.ExitStack() as stack:
        if isinstance(source, PolicySpec):
            spec, policy = source, make_policy(source)
            stack.callback(_close, policy)
        else:
            policy = adapted(source)
            spec = _spec_of_object(policy)
        yield LoadedPolicy.prepared(policy, spec, tasks)


def _close(policy: Policy) -> None:
    """Have a policy release what it holds. If it hangs or raises, the results are safe all the same."""
    close = hooks_of(policy).close
    if close is None:
        return

    def try_to_close() -> None:
        try:
            close()
        except Exception as error:
            log.warning("the policy raised %s (in `close`)", one_line(error))

    thread = threading.Thread(target=try_to_close, name="policy", daemon=True)
    thread.start()
    thread.join(CLOSE_LIMIT_S)
    if thread.is_alive():
        log.warning("the policy's `close` has not returned for %g s: not waiting any longer", CLOSE_LIMIT_S)


def _spec_of_object(policy: Policy) -> PolicySpec:
    kind = type(_written_by_user(policy))
    spec = PolicySpec(f"{OBJECT}{kind.__qualname__}")
    _check_protocol(policy, spec)
    if policy.place == "worker":
        raise UsageError(
            f"{kind.__qualname__} has place 'worker', so workers must be able to make it: give its name, "
            f"'{kind.__module__}:{kind.__qualname__}' (in a module, not a script; with options: "
            "yardarm.policies.PolicySpec(NAME, {OPTION: VALUE})), instead of the object"
        )
    return spec


def make_policy(spec: PolicySpec) -> Policy:
    """Import the class, check the options against its constructor, and make the policy."""
    if spec.type.startswith(OBJECT):
        raise UsageError(
            f"the policy of this configuration was a Python object, {spec.type.removeprefix(OBJECT)}; "
            "give --policy.type=package.module:Name"
        )
    factory = import_object(spec.path)
    _check_options(spec, factory)
    try:
        policy = adapted(factory(**spec.options))
    except ForeignCheckpoint as error:
        raise error.advising(f"add --policy.python=PATH, the Python of {LEROBOTS_HOME}") from None
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"policy '{spec.type}' cannot be made: {one_line(error)}") from error
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
    if not isinstance(policy.wants, ObservationSpec):
        raise UsageError(f"policy '{spec.type}': `wants` must be an ObservationSpec, not {policy.wants!r}")


def policy_id(policy: Policy, spec: PolicySpec) -> str:
    """Name a policy by what it is: its own `id`, or the hash of its source and options, secrets aside."""
    if (own := own_id(_written_by_user(policy))) is not None:
        return own
    written = _written_by_user(policy)
    digest = hashlib.sha256(_source(type(written)))
    digest.update(json.dumps(without_secrets(spec.options), sort_keys=True, default=str).encode())
    if spec.type.startswith(OBJECT):
        digest.update(_content(written))
    return f"{spec.type.removeprefix(OBJECT)}-{digest.hexdigest()[:12]}"


def _written_by_user(policy: Policy) -> Any:
    """What is behind an adapter, or the policy itself."""
    return getattr(policy, "adapted_policy", policy)


def _source(kind: type) -> bytes:
    try:
        return Path(inspect.getsourcefile(kind) or "").read_bytes()
    except (OSError, TypeError):  # defined in a notebook or at a prompt
        return kind.__qualname__.encode()


def _content(policy: Any) -> bytes:
    """What an object holds, such as weights; one that cannot be pickled is like no other, and never resumed."""
    try:
        # How a run puts batches together is no part of what a policy is.
        return pickle.dumps({name: value for name, value in vars(policy).items() if name != "batching"})
    except Exception:
        return uuid.uuid4().bytes


def _check_options(spec: PolicySpec, factory: Any) -> None:
    try:
        parameters = [
            parameter
            for parameter in inspect.signature(factory).parameters.values()
            if parameter.kind is not parameter.VAR_POSITIONAL
        ]
    except (TypeError, ValueError):
        raise UsageError(
            f"'{spec.type}' is not a class that a policy could be made from; if it is an architecture, give trained "
            "weights, too: --policy.path=CHECKPOINT"
        ) from None
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
