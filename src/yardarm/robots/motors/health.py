"""How motors are: load, temperature and voltage, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["HealthRegisters", "MotorHealth"]


@dataclass(frozen=True, slots=True)
class MotorHealth:
    """How a motor is."""

    load: float
    """Percent of what it can do, whichever way it pushes."""
    temperature: float
    """In °C."""
    voltage: float
    temperature_limit: float
    """Where it switches itself off, in °C."""


@dataclass(frozen=True, slots=True)
class HealthRegisters:
    """Where a vendor's motors keep it."""

    load: str
    temperature: str
    voltage: str
    temperature_limit: str
    load_limit: str | None = None
    """What a full load is; None: 1000, as for all motors that measure it in tenths of a percent."""
    without_load_limit: tuple[str, ...] = ()
    """Models that measure it in tenths of a percent nevertheless."""

    @property
    def now(self) -> tuple[str, ...]:
        """What changes."""
        return (self.load, self.temperature, self.voltage)

    @property
    def limits(self) -> tuple[str, ...]:
        """What does not change."""
        return (self.temperature_limit, *([self.load_limit] if self.load_limit else ()))

    def health(self, model: str, now: Mapping[str, float], limits: Mapping[str, float]) -> MotorHealth:
        """What a motor's registers mean."""
        measures_current = self.load_limit is not None and model not in self.without_load_limit
        full = limits[self.load_limit] if self.load_limit and measures_current else 1000.0
        return MotorHealth(
            load=100 * abs(now[self.load]) / max(full, 1.0),
            temperature=now[self.temperature],
            voltage=now[self.voltage] / 10,
            temperature_limit=limits[self.temperature_limit],
        )
