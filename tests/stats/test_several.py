from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yardarm.stats import holm, letters

p_values = st.lists(st.floats(0, 1), max_size=12)


@st.composite
def told_apart(draw: st.DrawFn) -> tuple[int, set[tuple[int, int]]]:
    """Some policies in the order of their rates, and any set of pairs that were told apart."""
    count = draw(st.integers(1, 8))
    pairs = list(itertools.combinations(range(count), 2))
    return count, draw(st.sets(st.sampled_from(pairs))) if pairs else set()


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_nothing_to_adjust() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [0.04]


@pytest.mark.slow
@settings(max_examples=20)
@given(p_values=p_values.filter(bool))
def test_statsmodels_agrees_on_holm(p_values: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))


@given(p_values=p_values)
def test_adjusting_keeps_the_order_and_never_helps(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(raw <= after <= 1 for raw, after in zip(p_values, adjusted, strict=True))
    for (raw, after), (other_raw, other_after) in itertools.combinations(zip(p_values, adjusted, strict=True), 2):
        if raw <= other_raw:
            assert after <= other_after
        else:
            assert after >= other_after


@given(p_values=p_values, shuffler=st.randoms())
def test_the_order_of_comparisons_does_not_matter(p_values: list[float], shuffler: random.Random) -> None:
    places = list(range(len(p_values)))
    shuffler.shuffle(places)
    assert holm([p_values[place] for place in places]) == [holm(p_values)[place] for place in places]


@given(case=told_apart())
def test_two_share_a_letter_if_and_only_if_they_were_not_told_apart(case: tuple[int, set[tuple[int, int]]]) -> None:
    count, different = case
    given_letters = letters(count, different)
    for one, other in itertools.combinations(range(count), 2):
        assert bool(set(given_letters[one]) & set(given_letters[other])) == ((one, other) not in different)


@given(case=told_apart())
def test_everyone_has_a_letter_and_the_best_has_a(case: tuple[int, set[tuple[int, int]]]) -> None:
    given_letters = letters(*case)
    assert all(given_letters)
    assert given_letters[0].startswith("a")


@given(case=told_apart())
def test_no_letter_says_what_another_says_already(case: tuple[int, set[tuple[int, int]]]) -> None:
    given_letters = letters(*case)
    columns = {
        letter: {policy for policy, own in enumerate(given_letters) if letter in own}
        for letter in set("".join(given_letters))
    }
    assert not any(one <= other for one, other in itertools.permutations(columns.values(), 2))


@given(case=told_apart())
def test_a_pair_may_be_named_in_either_order(case: tuple[int, set[tuple[int, int]]]) -> None:
    count, different = case
    assert letters(count, [(other, one) for one, other in different]) == letters(count, different)


def test_letters_of_a_textbook_case() -> None:
    # The second cannot be told from its neighbours, which can be told from each other.
    assert letters(4, [(0, 2), (0, 3), (1, 3), (2, 3)]) == ["a", "ab", "b", "c"]


def test_all_alike_and_all_different() -> None:
    assert letters(3, []) == ["a", "a", "a"]
    assert letters(3, [(0, 1), (0, 2), (1, 2)]) == ["a", "b", "c"]


def test_more_groups_than_letters_have_numbers() -> None:
    count = 54
    found = letters(count, list(itertools.combinations(range(count), 2)))
    assert len(set(found)) == count
    assert found[51:] == ["Z", "(53)", "(54)"]
