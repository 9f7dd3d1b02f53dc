"""What only LeRobot can drive: its other types, and the packages that extend it."""

from __future__ import annotations

from importlib.metadata import distributions

from yardarm.errors import UsageError

__all__ = ["refuse_foreign"]

LEROBOTS = {
    "robot": (
        *("lekiwi", "lekiwi_client", "hope_jr_arm", "hope_jr_hand", "openarm_follower", "bi_openarm_follower"),
        *("reachy2", "earthrover_mini_plus", "unitree_g1", "rebot_b601_follower", "bi_rebot_b601_follower"),
    ),
    "teleoperator": (
        *("openarm_leader", "bi_openarm_leader", "openarm_mini", "homunculus_glove", "homunculus_arm"),
        *("keyboard_rover", "phone", "reachy2_teleoperator", "unitree_g1"),
        *("rebot_102_leader", "bi_rebot_102_leader"),
    ),
    "camera": ("reachy2_camera",),
}


def refuse_foreign(kind: str, type: str) -> None:
    """Raise if LeRobot, or a package for it, has a type that Yardarm has not."""
    if type in LEROBOTS[kind]:
        raise UsageError(f"{kind} '{type}' is not supported yet; LeRobot itself can drive it")
    if package := _package(kind, type):
        raise UsageError(
            f"{kind} '{type}' comes with {package}, which needs LeRobot; a package for Yardarm has an entry point "
            f"yardarm.{kind}s"
        )


def _package(kind: str, type: str) -> str | None:
    """An installed package that extends LeRobot by this type, going by its name."""
    prefix = f"lerobot_{kind}_"
    names = {(own.metadata["Name"] or "").lower().replace("-", "_"): own.metadata["Name"] for own in distributions()}
    for name, written in names.items():
        if name.startswith(prefix) and name.removeprefix(prefix) == type.lower().replace("-", "_"):
            return str(written)
    return None
