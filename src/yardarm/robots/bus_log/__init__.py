"""The log of a bus: every packet with its time, shown readably, or played again through the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.robots.bus_log.reading import LogSession, read_bus_log
    from yardarm.robots.bus_log.replaying import Difference, ReplayReport, replay
    from yardarm.robots.bus_log.showing import shown
    from yardarm.robots.bus_log.summing import summary
    from yardarm.robots.bus_log.writing import BusLog

__all__ = ["BusLog", "Difference", "LogSession", "ReplayReport", "read_bus_log", "replay", "shown", "summary"]

# Whoever drives an arm writes a log at most.
__getattr__ = late_names(
    __name__,
    {
        "BusLog": "writing",
        "Difference": "replaying",
        "LogSession": "reading",
        "ReplayReport": "replaying",
        "read_bus_log": "reading",
        "replay": "replaying",
        "shown": "showing",
        "summary": "summing",
    },
)
