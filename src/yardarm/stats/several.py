"""Comparisons of more than two policies: adjusted p-values, and letters that summarise them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_letters

__all__ = ["holm", "letters"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false positive stays below the level of a single test."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def letters(count: int, different: Collection[tuple[int, int]]) -> list[str]:
    """Letters for policies, ordered from the best: two policies share a letter unless they differ.

    Starts with one column of all policies. For each pair that differs, a column that has both is split into two, each
    without one of them; a column that another one contains is dropped.
    """
    columns = [frozenset(range(count))]
    for one, other in sorted(different):
        split = []
        for column in columns:
            split += [column - {one}, column - {other}] if one in column and other in column else [column]
        columns = _without_contained(split)
    ordered = sorted(columns, key=sorted)
    return [
        "".join(_letter(place) for place, column in enumerate(ordered) if policy in column) for policy in range(count)
    ]


def _without_contained(columns: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    distinct = list(dict.fromkeys(columns))
    return [column for column in distinct if not any(column < other for other in distinct)]


def _letter(place: int) -> str:
    """a, b, …, z, A, …, Z; then numbers in brackets."""
    return ascii_letters[place] if place < len(ascii_letters) else f"({place + 1})"
