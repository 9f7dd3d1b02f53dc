"""How motors are: load, temperature and voltage, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["HealthRegisters", "MotorHealth", "load_percent"]


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

    def full_load(self, model: str) -> str | None:
        """Where a model says what a full load is; None: it measures tenths of a percent."""
        return None if model in self.without_load_limit else self.load_limit

    def health(self, model: str, now: Mapping[str, float], limits: Mapping[str, float]) -> MotorHealth:
        """What a motor's registers mean."""
        full = self.full_load(model)
        return MotorHealth(
            load=abs(load_percent(now[self.load], limits[full] if full else None)),
            temperature=now[self.temperature],
            voltage=now[self.voltage] / 10,
            temperature_limit=limits[self.temperature_limit],
        )


def load_percent(load: float, full: float | None) -> float:
    """A motor's load in percent of a full one; its sign is its direction. None: it is in tenths of a percent."""
    return 100 * load / max(1000.0 if full is None else full, 1.0)
