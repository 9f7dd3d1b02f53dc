"""More than two policies: p-values that allow for the number of comparisons, and letters that sum them up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_letters

__all__ = ["holm", "letters"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of even one false finding stays below what each is held against."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def letters(count: int, different: Collection[tuple[int, int]]) -> list[str]:
    """Letters for policies, the first of which is the best: two share one unless they were told apart.

    Starts with one column for all. For each pair that differs, a column that has both is split into one without each;
    a column that another contains is dropped.
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
    """a, b, …, z, A, …, Z; and numbers in brackets, should anyone need more."""
    return ascii_letters[place] if place < len(ascii_letters) else f"({place + 1})"
