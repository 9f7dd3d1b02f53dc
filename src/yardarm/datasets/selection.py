"""Selects episodes of a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from yardarm.errors import UsageError

__all__ = ["select_episodes"]


def select_episodes(episodes: Sequence[int] | None, total: int, what: str = "episodes") -> list[int]:
    """Check the numbers of selected episodes and sort them; None selects all."""
    if episodes is None:
        return list(range(total))
    numbers = [_number(episode, what) for episode in episodes]
    if not numbers:
        raise UsageError(f"{what} is empty; omit it to select all {total}")
    negative = [number for number in numbers if number < 0]
    if negative:
        raise UsageError(f"{what} must not be negative, got {_listed(negative)}; the first is 0")
    repeated = [number for number, count in Counter(numbers).items() if count > 1]
    if repeated:
        raise UsageError(f"{what} must not be repeated, got {_listed(repeated)} more than once")
    beyond = [number for number in numbers if number >= total]
    if beyond:
        known = f"{total} episodes, 0 to {total - 1}" if total else "no episodes"
        raise UsageError(f"{what} {_listed(beyond)}: the dataset has {known}")
    return sorted(numbers)


def _number(value: object, what: str) -> int:
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise UsageError(f"{what} must be whole numbers, got {value!r}") from None
    if number != value:
        raise UsageError(f"{what} must be whole numbers, got {value!r}")
    return number


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
