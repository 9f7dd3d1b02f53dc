"""What the files of a run and of a training must hold, as far as anybody reads it; the rest may be anything."""

from __future__ import annotations

from typing import Any

from yardarm.contents import (
    anything,
    count,
    flag,
    list_of,
    map_of,
    number,
    optional,
    positive,
    quantity,
    record,
    text,
    whole,
)

__all__ = ["EPISODE", "MANIFEST", "POINT", "SEVERAL", "TRAINING"]

EPISODE = record(
    {"policy": text, "benchmark": text, "env": text, "task": text, "index": count, "seed": whole, "status": text},
    {
        "steps": count,
        "sum_reward": quantity,
        "max_reward": quantity,
        "terminated": flag,
        "fingerprints": map_of(text),
        "error": optional(text),
        "place": optional(count),
        "attempts": count,
        "timing": map_of(number),
    },
)

TASK = record(
    {
        "benchmark": text,
        "env": text,
        "group": text,
        "index": whole,
        "name": text,
        "instruction": text,
        "max_steps": count,
        "fps": number,
    }
)
PLAN = record({}, {"policy": text, "seed": optional(whole), "env": list_of(map_of(anything))})
SESSION = {
    "session_started": optional(text),
    "updated": optional(text),
    "versions": optional(map_of(optional(text))),
    "machine": optional(map_of(anything)),
    "git_commit": optional(text),
    "command": optional(list_of(text)),
    "batch_size": optional(count),
    "renderer": optional(text),
    "other_interpreters": optional(map_of(map_of(optional(text)))),
    "environment_variables": optional(map_of(text)),
    "worlds": optional(map_of(list_of(text))),
    "uses_torch": optional(flag),
    "inference": optional(map_of(anything)),
}

# What a policy's server says of itself.
SERVER = record({}, {"yardarm": optional(record({}, {"about": optional(map_of(anything))}))})
POLICY = record({}, {"declared": optional(SERVER)})

EARLY_STOP = record(
    {
        "rule": text,
        "confidence": number,
        "players": positive,
        "maximum": positive,
        "released": count,
        "decision": optional(text),
        "dropped": map_of(count),
    }
)
PAIRS = {"pairs": count, "both": count, "only_a": count, "only_b": count}
DECIDED = record(
    {"a": text, "b": text, **PAIRS, "difference": optional(number), "difference_interval": list_of(number)}
)
PRECISE = record(
    {"successes": count, "episodes": count, "rate": optional(number), "interval": list_of(number), "half_width": number}
)


def early_stop(value: Any, place: str) -> None:
    """What a run that may stop early has come to."""
    EARLY_STOP(value, place)
    (DECIDED if value["rule"] == "decided" else PRECISE)(value, place)


MANIFEST = record(
    {"plan": PLAN, "n_episodes": count, "tasks": list_of(TASK)},
    {
        "status": text,
        "started": optional(text),
        "wall_s": number,
        "planned": count,
        "shard": optional(text),
        "warnings": list_of(text),
        "stopping": optional(early_stop),
        "policy": optional(POLICY),
        "method": optional(text),
        "training_seed": optional(whole),
        "sessions": list_of(record({}, SESSION)),
        **SESSION,
    },
)

SEVERAL = record(
    {"plan": map_of(anything), "policies": list_of(record({"name": text, "id": text, "source": text}))},
)

TRAINING = record(
    {},
    {
        "policy": record({"type": text}),
        "dataset": record({"name": text}),
        "steps": count,
        "step": optional(count),
        "status": text,
        "started": optional(text),
        "wall_s": optional(number),
        "config": map_of(anything),
        "command": list_of(text),
        "versions": map_of(optional(text)),
        "machine": map_of(anything),
        "git_commit": optional(text),
    },
)
POINT = record({"step": count, "kind": text})
