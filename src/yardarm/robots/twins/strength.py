"""How strong, how fast and how thirsty the motors are, by their vendors' tables."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.robots.motors.register_bus import Motor

__all__ = ["STRENGTHS", "Strength", "strength_of"]


@dataclass(frozen=True, slots=True)
class Strength:
    """A motor at the voltage that it is made for. Its torque falls with its speed, down to none at full speed."""

    torque_nm: float
    """Torque when it cannot turn."""
    speed_rad_s: float
    """Speed when nothing holds it."""
    current_a: float
    """Current when it cannot turn."""
    supply_v: float
    friction_nm: float
    armature_kg_m2: float
    """The rotor's inertia, as the joint feels it through the gears."""

    @property
    def damping(self) -> float:
        """What it loses with speed, in Nm per rad/s."""
        return self.torque_nm / self.speed_rad_s


# Torque, friction and inertia of the STS3215 are those of the SO-101's published simulation model; friction and inertia
# of the Dynamixels are guesses, scaled from these with the torque.
STS3215 = Strength(3.35, 4.7, 2.7, 12.1, 0.052, 0.028)
XL330 = Strength(0.52, 10.8, 1.47, 5.0, 0.012, 0.004)
XL430 = Strength(1.5, 6.4, 1.4, 12.1, 0.03, 0.012)
STRENGTHS = {
    "sts3215": STS3215,
    "sts3250": Strength(4.9, 7.8, 3.6, 12.1, 0.06, 0.028),
    "xl330-m077": Strength(0.215, 40.1, 1.47, 5.0, 0.006, 0.001),
    "xl330-m288": XL330,
    "xl430-w250": XL430,
    "xc430-w150": Strength(1.6, 7.3, 1.4, 12.1, 0.03, 0.012),
    "xm430-w350": Strength(4.1, 4.8, 2.3, 12.1, 0.05, 0.02),
}


def strength_of(motor: Motor) -> Strength:
    """A motor's strength; a model that is not in the table is as strong as one that is like it."""
    return STRENGTHS.get(motor.model, STS3215 if motor.model.startswith("s") else XL430)
