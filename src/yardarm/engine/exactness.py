"""Fixes how a policy's batches are put together, once for a run and for all who continue it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.errors import PolicyFault, UsageError, YardarmError, one_line, trace_of
from yardarm.machine import usable_cores
from yardarm.policies import BatchedPolicy, Batching, LoadedPolicy, Releasable

__all__ = ["batching_text", "fix_batching"]


def fix_batching(
    loaded: LoadedPolicy, *, exact: bool, stored: Mapping[str, Any] | None, known: dict[str, Batching] | None = None
) -> dict[str, Any] | None:
    """Set the policy's batching as the run began with it, or choose one; return what the manifest shall say.

    A policy that is no `BatchedPolicy` answers requests in its own way, and is taken to be exact. `known` has what was
    chosen for others, by their batching key: which rows are exact follows from shapes, not from weights.
    """
    policy = loaded.policy
    if not isinstance(policy, BatchedPolicy):
        return None
    if stored is not None:
        if stored["exact"] != exact:
            raise UsageError(
                f"this run was begun with --eval.exact={str(stored['exact']).lower()}, and cannot go on otherwise: "
                "give that, or another --output_dir"
            )
        if stored["device"] != policy.device_type:
            raise UsageError(
                f"this run was begun with --policy.device={stored['device']}, and cannot go on with "
                f"{policy.device_type}, which rounds differently; give that device, or another --output_dir"
            )
        policy.batching = Batching(stored["rows"], stored["threads"], stored.get("reason", ""))
        return dict(stored)
    chosen = {} if known is None else known
    batching = (
        _chosen(policy, loaded.traits.batching_key, chosen)
        if exact
        else Batching(rows=None, reason="--eval.exact=false")
    )
    policy.batching = batching
    return {
        "exact": exact,
        "rows": batching.rows,
        "threads": batching.threads,
        "device": policy.device_type,
        "reason": batching.reason,
    }


def batching_text(inference: Mapping[str, Any]) -> str:
    """What a manifest says of batching, as a line for a log."""
    rows = f"{inference['rows']} row(s) a micro-batch" if inference["rows"] else "batches of any shape"
    threads = f", {inference['threads']} thread(s)" if inference["threads"] else ""
    return f"inference in {rows}{threads}" + (f": {inference['reason']}" if inference.get("reason") else "")


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
