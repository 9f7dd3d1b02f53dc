"""How motors write signed numbers into their registers."""

from __future__ import annotations

__all__ = ["sign_magnitude", "twos_complement", "unsign_magnitude", "untwos_complement"]


def sign_magnitude(value: int, sign_bit: int) -> int:
    """A number as its size, with a bit that says it is negative; raises ValueError if it does not fit."""
    if abs(value) >= 1 << sign_bit:
        raise ValueError(f"{value} does not fit: it must lie between {1 - (1 << sign_bit)} and {(1 << sign_bit) - 1}")
    return value if value >= 0 else -value | 1 << sign_bit


def unsign_magnitude(encoded: int, sign_bit: int) -> int:
    """The number that `sign_magnitude` encoded."""
    size = encoded & ((1 << sign_bit) - 1)
    return -size if encoded >> sign_bit & 1 else size


def twos_complement(value: int, size: int) -> int:
    """A signed number of `size` bytes; raises ValueError if it does not fit."""
    return int.from_bytes(_bytes(value, size, signed=True), "little")


def untwos_complement(encoded: int, size: int) -> int:
    """The number that `twos_complement` encoded."""
    return int.from_bytes(_bytes(encoded, size, signed=False), "little", signed=True)


def _bytes(value: int, size: int, signed: bool) -> bytes:
    try:
        return value.to_bytes(size, "little", signed=signed)
    except OverflowError:
        raise ValueError(f"{value} does not fit into {size} byte(s)") from None
