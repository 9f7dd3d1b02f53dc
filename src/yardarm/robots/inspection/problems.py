"""What is wrong with an arm, going by what its motors say, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from yardarm.robots.inspection.motor_state import MotorState
from yardarm.robots.motors import Motor, MotorCalibration
from yardarm.robots.motors.register_bus import BAUD_RATE
from yardarm.robots.motors.setup import FoundMotor

__all__ = ["Problem", "missing_motors", "wrong_states", "wrong_with_motor"]

# A motor switches itself off at its limit; so far below, it is worth a pause.
WARM_BELOW_LIMIT = 15
# Along a good cable, the last motor has hardly less than the first.
MOST_VOLTS_LOST = 1.0
HIGH_LOAD = 80.0


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and what to do."""

    what: str
    to_do: str

    def __str__(self) -> str:
        return f"{self.what}: {self.to_do}"


def missing_motors(
    motors: Mapping[str, Motor], present: Collection[str], strangers: list[FoundMotor]
) -> Iterator[Problem]:
    """Motors that do not answer, and motors that nobody expects."""
    names = list(motors)
    missing = [name for name in names if name not in present]
    if missing and len(missing) == len(names):
        if not strangers:
            yield Problem("no motor answers", "switch on the power supply, and check the cable to the first motor")
    elif missing:
        yield from (_missing(name, names, missing, motors, strangers) for name in missing)
    if strangers:
        listed = ", ".join(
            f"id {own.id} ({own.model}{'' if own.baud_rate == BAUD_RATE else f', at {own.baud_rate} baud'})"
            for own in strangers
        )
        yield Problem(
            f"motors answer that do not belong to this arm: {listed}",
            "connect each of them alone, and run `yardarm setup-motors`"
            if present
            else "is the type of the arm right? `yardarm find-port` says which it looks like",
        )


def _missing(
    name: str, names: list[str], missing: list[str], motors: Mapping[str, Motor], strangers: list[FoundMotor]
) -> Problem:
    place = names.index(name)
    what = f"{name} (id {motors[name].id}) does not answer"
    if any(found.model == motors[name].model for found in strangers):
        return Problem(what, "it may have another id, see below")
    if name != missing[0] and names[place - 1] in missing:
        return Problem(what, f"mend {names[place - 1]} first, which is before it on the cable")
    if place and names[place:] == missing:
        rest = "; all motors after it are missing, too" if len(missing) > 1 else ", and its id"
        return Problem(what, f"check the cable from {names[place - 1]} to {name}{rest}")
    return Problem(what, "check both plugs of its cable; if they are good, its id may be that of another motor")


def wrong_states(states: Mapping[str, MotorState]) -> Iterator[Problem]:
    """What is only seen by comparing motors with each other."""
    by_model: dict[str, dict[str, list[str]]] = {}
    for name, state in states.items():
        by_model.setdefault(state.model, {}).setdefault(state.firmware, []).append(name)
    for model, versions in by_model.items():
        if len(versions) > 1:
            listed = "; ".join(f"{version}: {', '.join(names)}" for version, names in versions.items())
            yield Problem(
                f"the {model} motors have different firmware ({listed})", "update it with the vendor's software"
            )
    most = max((state.volts for state in states.values()), default=0.0)
    for name, state in states.items():
        if most - state.volts > MOST_VOLTS_LOST:
            yield Problem(
                f"{name} has {state.volts:.1f} V where others have {most:.1f} V", "check the plugs of its cable"
            )


def wrong_with_motor(name: str, expected: Motor, state: MotorState, file: MotorCalibration | None) -> Iterator[Problem]:
    """What is wrong with one motor; `file` is its calibration on disk."""
    called = f"{name} (id {state.id})"
    if state.model != expected.model:
        yield Problem(
            f"{called} is a {state.model}, not a {expected.model}",
            "is the type of the arm right? If so, it has another motor's id; run `yardarm setup-motors`",
        )
    if state.alerts:
        yield Problem(
            f"{called} reports {' and '.join(state.alerts)}",
            "switch the power off and on, and see what blocks the joint",
        )
    if state.celsius > state.most_celsius - WARM_BELOW_LIMIT:
        yield Problem(
            f"{called} is {state.celsius} °C hot, and switches itself off at {state.most_celsius} °C",
            "let it cool down",
        )
    if state.volts < state.least_volts:
        yield Problem(
            f"{called} has {state.volts:.1f} V, and needs {state.least_volts:.1f} V",
            "check the power supply, and that it is the one for this arm",
        )
    if state.volts > state.most_volts:
        yield Problem(
            f"{called} has {state.volts:.1f} V, and bears {state.most_volts:.1f} V",
            "switch the power off at once; this power supply is too strong for this arm",
        )
    if abs(state.load) > HIGH_LOAD:
        yield Problem(f"{called} pulls with {abs(state.load):.0f}% of its force", "see what blocks the joint")
    if file is not None and not file.range_min <= state.position <= file.range_max:
        yield Problem(
            f"{called} is at {state.position}, outside of its range {file.range_min} to {file.range_max}",
            "move it back by hand; if it is at its end, calibrate again",
        )
