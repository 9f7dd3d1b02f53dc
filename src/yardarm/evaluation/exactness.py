"""Fixes how a policy's batches are put together, once for a run and for all who continue it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from yardarm.errors import PolicyFault, UsageError, YardarmError
from yardarm.machine import usable_cores
from yardarm.policies import Batching, Policy

__all__ = ["fix_batching"]


def fix_batching(policy: Policy, *, exact: bool, stored: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Set the policy's batching as the run began with it, or choose one; return what the manifest shall say.

    A policy without `batching` answers requests in its own way, and is taken to be exact.
    """
    if not hasattr(policy, "batching"):
        return None
    if stored is not None:
        if stored["exact"] != exact:
            raise UsageError(
                f"this run was begun with --eval.exact={str(stored['exact']).lower()}, and cannot go on otherwise: "
                "give that, or another --output_dir"
            )
        batching = Batching(stored["rows"], stored["threads"])
    else:
        chosen = _choose(policy)
        batching = chosen if exact else Batching(None, chosen.threads)
    policy.batching = batching
    return {"exact": exact, "rows": batching.rows, "threads": batching.threads, **_where(policy, stored)}


def _choose(policy: Any) -> Batching:
    try:
        return policy.choose_batching(usable_cores())
    except YardarmError:
        raise
    except Exception as error:
        trace = traceback.format_exc()
        raise PolicyFault(f"the policy raised when it was tried on made-up observations:\n{trace}") from error


def _where(policy: Policy, stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """Another device rounds differently: half a run on each would be neither's result."""
    placement = getattr(policy, "placement", None)
    if placement is None:
        return {}
    device = placement.device.type
    if stored is not None and stored.get("device", device) != device:
        raise UsageError(
            f"this run was begun with --policy.device={stored['device']}, and cannot go on with {device}; "
            "give that device, or another --output_dir"
        )
    return {"device": device}
