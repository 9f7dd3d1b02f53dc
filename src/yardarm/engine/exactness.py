"""Fixes how a policy's batches are put together, once for a run and all of its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.errors import PolicyFault, UsageError, YardarmError, one_line, trace_of
from yardarm.machine import usable_cores
from yardarm.policies import BatchedPolicy, Batching, Policy, Releasable

__all__ = ["batching_text", "fix_batching"]


def fix_batching(
    policy: Policy, *, exact: bool, stored: Mapping[str, Any] | None, known: dict[str, Batching] | None = None
) -> dict[str, Any] | None:
    """Set the batching that the run started with, or choose one; returns what the manifest says about it.

    A policy that is no `BatchedPolicy` answers requests in its own way, and is assumed to be exact. `known` has what
    was chosen for others, by architecture: which rows are exact follows from shapes, not from weights.
    """
    if not isinstance(policy, BatchedPolicy):
        return None
    if stored is not None:
        if stored["exact"] != exact:
            raise UsageError(
                f"this run was started with --eval.exact={str(stored['exact']).lower()}, and cannot be resumed "
                "otherwise: use the same value, or another --output_dir"
            )
        if stored["device"] != policy.device_type:
            raise UsageError(
                f"this run was started with --policy.device={stored['device']}, and cannot be resumed with "
                f"{policy.device_type}, which rounds differently; use the same device, or another --output_dir"
            )
        policy.batching = Batching(stored["rows"], stored["threads"], stored.get("reason", ""))
        return dict(stored)
    chosen = {} if known is None else known
    batching = _chosen(policy, chosen) if exact else Batching(rows=None, reason="--eval.exact=false")
    policy.batching = batching
    return {
        "exact": exact,
        "rows": batching.rows,
        "threads": batching.threads,
        "device": policy.device_type,
        "reason": batching.reason,
    }


def batching_text(inference: Mapping[str, Any]) -> str:
    """What a manifest says about batching, as a line for a log."""
    rows = f"{inference['rows']} row(s) a micro-batch" if inference["rows"] else "batches of any shape"
    threads = f", {inference['threads']} thread(s)" if inference["threads"] else ""
    return f"inference in {rows}{threads}" + (f": {inference['reason']}" if inference.get("reason") else "")


def _chosen(policy: BatchedPolicy, known: dict[str, Batching]) -> Batching:
    name = getattr(policy, "architecture", None)
    if name is None:
        return _choose(policy)
    if name not in known:
        waiting = policy if isinstance(policy, Releasable) and policy.released else None
        known[name] = _choose(policy)
        if waiting is not None:
            waiting.release()  # its turn comes later
    return known[name]


def _choose(policy: BatchedPolicy) -> Batching:
    try:
        return policy.choose_batching(usable_cores())
    except YardarmError:
        raise
    except Exception as error:
        text = f"the policy raised {one_line(error)} when it was tried on made-up observations"
        raise PolicyFault(text, trace_of(error)) from error
