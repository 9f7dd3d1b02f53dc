"""Fixes how a policy's batches are put together, once for a run and all of its sessions."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.errors import PolicyFault, UsageError, YardarmError, one_line, trace_of
from yardarm.machine import usable_cores
from yardarm.policies import BatchedPolicy, Batching, LoadedPolicy, Releasable

__all__ = ["FixedBatching", "batching_text", "fix_batching"]


@dataclass(frozen=True, slots=True)
class FixedBatching:
    """How a policy's batches are put together from a run's beginning to its end, and on which kind of device."""

    exact: bool
    rows: int | None
    threads: int | None
    device: str
    reason: str = ""


def fix_batching(
    loaded: LoadedPolicy, *, exact: bool, stored: FixedBatching | None, known: dict[str, Batching] | None = None
) -> FixedBatching | None:
    """Set the policy's batching as the run began with it, or choose one; return what the run's record says about it.

    A policy that is no `BatchedPolicy` answers requests in its own way, and is assumed to be exact. `known` has what
    was chosen for others, by their batching key: which rows are exact follows from shapes, not from weights.
    """
    policy = loaded.policy
    if not isinstance(policy, BatchedPolicy):
        return None
    if stored is not None:
        if stored.exact != exact:
            raise UsageError(
                f"this run was started with --eval.exact={str(stored.exact).lower()}, and cannot be resumed otherwise: "
                "use the same value, or another --output_dir"
            )
        if stored.device != policy.device_type:
            raise UsageError(
                f"this run was started with --policy.device={stored.device}, and cannot be resumed with "
                f"{policy.device_type}, which rounds differently; use the same device, or another --output_dir"
            )
        policy.batching = Batching(stored.rows, stored.threads, stored.reason)
        return stored
    chosen = {} if known is None else known
    batching = (
        _chosen(policy, loaded.traits.batching_key, chosen)
        if exact
        else Batching(rows=None, reason="--eval.exact=false")
    )
    policy.batching = batching
    return FixedBatching(exact, batching.rows, batching.threads, policy.device_type, batching.reason)


def batching_text(batching: FixedBatching) -> str:
    """What a manifest says about batching, as a line for a log."""
    rows = f"{batching.rows} row(s) a micro-batch" if batching.rows else "batches of any shape"
    threads = f", {batching.threads} thread(s)" if batching.threads else ""
    return f"inference in {rows}{threads}" + (f": {batching.reason}" if batching.reason else "")


def _chosen(policy: BatchedPolicy, key: str | None, known: dict[str, Batching]) -> Batching:
    if key is None:
        return _choose(policy)
    if key not in known:
        waiting = policy if isinstance(policy, Releasable) and policy.released else None
        known[key] = _choose(policy)
        if waiting is not None:
            waiting.release()  # its turn comes later
    return known[key]


def _choose(policy: BatchedPolicy) -> Batching:
    try:
        return policy.choose_batching(usable_cores())
    except YardarmError:
        raise
    except Exception as error:
        text = f"the policy raised {one_line(error)} when it was tried on made-up observations"
        raise PolicyFault(text, trace_of(error)) from error
