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
from yardarm.policies.protocol import ObservationSpec, Policy
from yardarm.registry import Registry, import_object
from yardarm.secrecy import without_secrets
from yardarm.tasks import TaskSpec

__all__ = [
    "CHECKPOINT_TYPES",
    "POLICIES",
    "ForeignCheckpoint",
    "LoadedPolicy",
    "PolicySpec",
    "make_policy",
    "open_policy",
    "policy_id",
]

log = logging.getLogger(__name__)

# As long as a policy may take to end a server of its own.
CLOSE_LIMIT_S = 60.0

POLICIES = Registry(
    "policy",
    "yardarm.policies",
    {
        "expert": "yardarm.policies.scripted:ExpertPolicy",
        "pretrained": "yardarm.policies.learned.loading:load_policy",
        "lerobot": "yardarm.policies.remote:LeRobotPolicy",
        "mt10-act": "yardarm.policies.shipped:mt10_act",
        "random": "yardarm.policies.scripted:RandomPolicy",
        "remote": "yardarm.policies.remote:RemotePolicy",
        "zero": "yardarm.policies.scripted:ZeroPolicy",
    },
)


# The architectures of checkpoints; `pretrained` loads them all.
CHECKPOINT_TYPES = {
    "act": "yardarm.policies.act:ActPolicy",
    "diffusion": "yardarm.policies.diffusion:DiffusionPolicy",
}

# What runs all other types.
LEROBOTS_HOME = "an environment that has lerobot, msgpack and websockets"

# The type of a policy that was given as an object: nobody else can make it.
OBJECT = "object:"


class ForeignCheckpoint(UsageError):
    """A checkpoint of a type that only LeRobot runs. What to do instead depends on what was asked for."""

    def __init__(self, source: str, kind: str, advice: str = "") -> None:
        self.source, self.kind = source, kind
        advice = advice or (
            "evaluate yardarm.policies.PolicySpec('lerobot', {'path': …, 'python': PATH}) in its place, where PATH is "
            f"the Python of {LEROBOTS_HOME}"
        )
        super().__init__(f"{source} is of a policy of type '{kind}', which LeRobot itself must run: {advice}")

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

    @property
    def can_be_made_again(self) -> bool:
        """Whether its spec is enough to make it, in any process."""
        return not self.spec.type.startswith(OBJECT)

    def describe(self) -> dict[str, Any]:
        """What a manifest says of it."""
        describe = getattr(self.policy, "describe", dict)
        return {"id": self.id, "type": self.spec.type, **describe()}


@contextlib.contextmanager
def open_policy(
    source: PolicySpec | Policy, tasks: Sequence[TaskSpec] = (), rename_map: Mapping[str, str] | None = None
) -> Iterator[LoadedPolicy]:
    """Make a policy from its name, or take one that was made already; one that was made here is closed afterwards.

    A policy that wants to is shown the tasks first. `rename_map` becomes an option of a policy that is made here.
    """
    if rename_map is not None:
        if not isinstance(source, PolicySpec):
            raise UsageError("a policy that is an object has its names already: rename_map is for policies by name")
        source = replace(source, options={**source.options, "rename_map": dict(rename_map)})
    with contextlib.ExitStack() as stack:
        if isinstance(source, PolicySpec):
            spec, policy = source, make_policy(source)
            stack.callback(_close, policy)
        else:
            spec, policy = _spec_of_object(source), source
        if hasattr(policy, "prepare"):
            policy.prepare(tasks)
        yield LoadedPolicy(policy, spec, policy_id(policy, spec))


def _close(policy: Policy) -> None:
    """Have a policy let go of what it holds; one that hangs, or raises, then, takes no results with it."""

    def close() -> None:
        try:
            policy.close()  # type: ignore[attr-defined]
        except Exception as error:
            log.warning("the policy raised %s (in `close`)", one_line(error))

    if not hasattr(policy, "close"):
        return
    thread = threading.Thread(target=close, name="policy", daemon=True)
    thread.start()
    thread.join(CLOSE_LIMIT_S)
    if thread.is_alive():
        log.warning("the policy has not come back from `close` for %g s, and is left to itself", CLOSE_LIMIT_S)


def _spec_of_object(policy: Policy) -> PolicySpec:
    kind = type(policy)
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
        policy = factory(**spec.options)
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
    own = getattr(policy, "id", None)
    if own is not None:
        return str(own)
    digest = hashlib.sha256(_source(type(policy)))
    digest.update(json.dumps(without_secrets(spec.options), sort_keys=True, default=str).encode())
    if spec.type.startswith(OBJECT):
        digest.update(_content(policy))
    return f"{spec.type.removeprefix(OBJECT)}-{digest.hexdigest()[:12]}"


def _source(kind: type) -> bytes:
    try:
        return Path(inspect.getsourcefile(kind) or "").read_bytes()
    except (OSError, TypeError):  # defined in a notebook or at a prompt
        return kind.__qualname__.encode()


def _content(policy: Policy) -> bytes:
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
        raise UsageError(f"'{spec.type}' is not a class that a policy could be made from") from None
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
