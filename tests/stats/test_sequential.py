from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tests.stats.chances import discordance
from yardarm.stats import PairedCounts, SequentialMcNemar, mcnemar

# A course is a string: A or B solved a pair alone, "=" both or neither, "?" nothing is known of it.
PAIRS = {"A": (True, False), "B": (False, True), "=": (True, True)}
courses = st.text("AB=?", max_size=40)
SWAP = str.maketrans("ABab", "BAba")


def look(test: SequentialMcNemar, sign: str) -> str | None:
    return test.drop() if sign == "?" else test.add(*PAIRS[sign])


def decision(course: str, maximum: int, alpha: float = 0.05) -> tuple[int, str] | None:
    """After which look the test decides, and for whom."""
    test = SequentialMcNemar(maximum, alpha)
    for place, sign in enumerate(course, 1):
        better = look(test, sign)
        if better is not None:
            return place, better
    return None


@pytest.mark.parametrize(("maximum", "alpha"), [(8, 0.05), (7, 0.2), (6, 0.5), (1, 0.5)])
def test_fair_coins_are_rarely_taken_for_a_difference_whichever_pairs_are_discordant(
    maximum: int, alpha: float
) -> None:
    errors: dict[tuple[bool, ...], float] = defaultdict(float)
    for course in itertools.product("AB=", repeat=maximum):
        pattern = tuple(sign != "=" for sign in course)
        errors[pattern] += (decision("".join(course), maximum, alpha) is not None) / 2 ** sum(pattern)
    assert len(errors) == 2**maximum
    assert max(errors.values()) <= alpha


def test_it_does_decide() -> None:
    # Six in a row have a chance of 1/64; a side may have spent 0.025 * 7/10 = 0.0175 after seven pairs, not after six.
    assert decision("AAAAAA=", 10) == (7, "a")
    assert decision("=BBBBBB", 10) == (7, "b")
    assert decision("ABABABABAB", 10) is None
    # A side may spend 0.25 after both of two pairs, which is just what two in a row cost.
    assert decision("AA", 2, alpha=0.5) == (2, "a")


def decided_by_definition(pattern: str, maximum: int, alpha: Fraction) -> dict[str, tuple[int, str]]:
    """All courses of a pattern that are decided: the most extreme, as long as the allowance pays for them."""
    undecided = {"": Fraction(1)}
    found: dict[str, tuple[int, str]] = {}
    spent = Fraction(0)
    for place, sign in enumerate(pattern, 1):
        choices = "AB" if sign == "x" else "="
        undecided = {course + own: chance / len(choices) for course, chance in undecided.items() for own in choices}
        for lead in range(place, 0, -1):
            ahead = {course for course in undecided if course.count("A") - course.count("B") == lead}
            behind = {course for course in undecided if course.count("B") - course.count("A") == lead}
            price = sum((undecided[course] for course in ahead), Fraction(0))
            if spent + price > alpha / 2 * place / maximum:
                break
            spent += price
            for course in ahead | behind:
                found[course] = (place, "a" if course in ahead else "b")
                del undecided[course]
    return found


@pytest.mark.parametrize("pattern", ["xxxxxxxxxx", "xx=xxx==xx", "x=xxxxxx"])
@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(3, 10), Fraction(9, 10)])
def test_it_decides_what_the_definition_decides(pattern: str, alpha: Fraction) -> None:
    expected = decided_by_definition(pattern, len(pattern), alpha)
    for signs in itertools.product("AB", repeat=pattern.count("x")):
        remaining = iter(signs)
        course = "".join(next(remaining) if sign == "x" else "=" for sign in pattern)
        prefixes = [course[:place] for place in range(1, len(course) + 1)]
        assert decision(course, len(pattern), float(alpha)) == next(
            (expected[prefix] for prefix in prefixes if prefix in expected), None
        )


def test_a_single_pair_decides_only_who_accepts_an_error_of_one() -> None:
    assert decision("A", 1, alpha=0.99) is None


@given(course=courses, maximum=st.integers(40, 60))
def test_who_is_called_a_does_not_matter(course: str, maximum: int) -> None:
    found, other = decision(course, maximum, 0.3), decision(course.translate(SWAP), maximum, 0.3)
    assert other == (found and (found[0], found[1].translate(SWAP)))


@given(course=courses, rest=courses)
def test_what_comes_after_a_decision_does_not_change_it(course: str, rest: str) -> None:
    found = decision(course, 80, 0.3)
    if found:
        assert decision(course + rest, 80, 0.3) == found


@given(course=courses, rest=courses)
def test_a_decision_stands_whatever_is_added(course: str, rest: str) -> None:
    test = SequentialMcNemar(80, 0.3)
    for sign in course:
        look(test, sign)
    decided = test.better
    for sign in rest:
        look(test, sign)
    assert decided is None or test.better == decided


@given(course=courses)
def test_it_counts_what_it_was_shown(course: str) -> None:
    test = SequentialMcNemar(40, alpha=1e-9)  # so strict that nothing ends it
    for sign in course:
        look(test, sign)
    assert test.better is None
    assert test.looks == len(course)
    assert (test.wins_a, test.discordant) == (course.count("A"), course.count("A") + course.count("B"))


@given(course=courses)
def test_a_dropped_pair_counts_like_one_that_went_alike(course: str) -> None:
    assert decision(course, 40, 0.3) == decision(course.replace("?", "="), 40, 0.3)


def test_a_dropped_pair_uses_up_a_place() -> None:
    test = SequentialMcNemar(2)
    test.drop()
    test.drop()
    with pytest.raises(ValueError, match="all 2 declared pairs"):
        test.drop()


def test_more_pairs_than_declared_are_refused() -> None:
    test = SequentialMcNemar(3)
    for _ in range(3):
        test.add(True, False)
    with pytest.raises(ValueError, match="all 3 declared pairs"):
        test.add(True, False)


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SequentialMcNemar(0)
    for alpha in (0.0, 1.0, 5.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            SequentialMcNemar(10, alpha)


def test_outcomes_may_be_numpys() -> None:
    test = SequentialMcNemar(10)
    for a in np.array([True] * 7):
        test.add(a, np.False_)
    assert test.better == "a"


def test_a_larger_maximum_decides_no_earlier_in_any_short_course() -> None:
    # Not a law: with dozens of pairs, whole courses are paid for, and one that was not bought early may be bought late.
    for course in map("".join, itertools.product("AB=", repeat=7)):
        found = [decision(course, maximum, 0.3) or (99, "") for maximum in (7, 8, 14)]
        assert [place for place, _ in found] == sorted(place for place, _ in found)


@settings(max_examples=30)
@given(pattern=st.lists(st.booleans(), min_size=1, max_size=60))
def test_twice_the_maximum_decides_no_earlier(pattern: list[bool]) -> None:
    assert np.all(boundaries(pattern, len(pattern)) <= boundaries(pattern, 2 * len(pattern)))


class Watched(SequentialMcNemar):
    """Keeps how many wins would have decided at each look, from which all courses' chances follow."""

    def _decide_extremes(self) -> int:
        boundary = super()._decide_extremes()
        self.__dict__.setdefault("boundaries", []).append(boundary)
        return boundary


def boundaries(pattern: Sequence[bool], maximum: int) -> np.ndarray:
    """How many wins decide after each pair, if these are discordant."""
    test, a = Watched(maximum), False
    for discordant in pattern:
        a ^= discordant  # in turn, so that nobody wins
        test.add(a, a != discordant)
    assert test.better is None
    return np.array(test.__dict__["boundaries"])


def decided_at(pattern: np.ndarray, wins: float) -> tuple[np.ndarray, np.ndarray]:
    """The chances that each look decides for A, and for B, if A wins a discordant pair with this chance."""
    chances, discordant = np.zeros(len(pattern) + 2), 0
    chances[0] = 1.0
    for_a, for_b = np.zeros((2, len(pattern)))
    for place, (differs, boundary) in enumerate(zip(pattern, boundaries(pattern, len(pattern)), strict=True)):
        if differs:
            chances[1:] = wins * chances[:-1] + (1 - wins) * chances[1:]
            chances[0] *= 1 - wins
            discordant += 1
        lost = discordant - boundary + 1
        if lost > 0:
            for_a[place], for_b[place] = chances[boundary:].sum(), chances[:lost].sum()
            chances[boundary:] = chances[:lost] = 0.0
    return for_a, for_b


def test_chances_by_boundaries_are_those_of_all_courses() -> None:
    pattern = np.array([True, True, False, True, True, True, True, True, False, True])
    expected = np.zeros((2, len(pattern)))
    for signs in itertools.product("AB", repeat=int(pattern.sum())):
        remaining = iter(signs)
        found = decision("".join(next(remaining) if differs else "=" for differs in pattern), len(pattern))
        if found:
            expected["ab".index(found[1]), found[0] - 1] += 0.6 ** signs.count("A") * 0.4 ** signs.count("B")
    assert np.array(decided_at(pattern, 0.6)) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("maximum", [20, 50, 200, 500])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.6, 1.0])
def test_equal_policies_are_rarely_told_apart(maximum: int, rate: float) -> None:
    rng = np.random.default_rng(maximum)
    errors = [np.sum(decided_at(rng.random(maximum) < rate, 0.5)) for _ in range(10)]
    print(f"sequential N={maximum}, {rate} discordant: errs in {np.mean(errors):.4f}, at most {np.max(errors):.4f}")
    assert np.max(errors) <= 0.05


def fixed_power(pairs: int, only_a: float, only_b: float) -> float:
    """The chance that McNemar's test after all pairs finds A better."""
    power = 0.0
    for discordant in range(pairs + 1):
        wins = np.arange(discordant + 1)
        found = [2 * a > discordant and mcnemar(PairedCounts(0, int(a), int(discordant - a), 0)) <= 0.05 for a in wins]
        chance = binom.pmf(discordant, pairs, only_a + only_b)
        power += chance * float(np.sum(binom.pmf(wins, discordant, only_a / (only_a + only_b))[found]))
    return power


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate_a", "rate_b", "correlation", "maximum", "share", "loss"),
    # What it loses against one test at the end, and which share of the pairs it needs on average.
    [
        (0.9, 0.5, 0.2, 100, 0.35, 0.01),
        (0.8, 0.6, 0.3, 100, 0.70, 0.05),
        (0.8, 0.7, 0.3, 200, 0.85, 0.07),
        (0.7, 0.6, 0.5, 500, 0.60, 0.05),
    ],
)
def test_it_saves_pairs_and_loses_little_power(
    rate_a: float, rate_b: float, correlation: float, maximum: int, share: float, loss: float
) -> None:
    only_a, only_b = discordance(rate_a, rate_b, correlation)
    rng, found, wrong, needed = np.random.default_rng(0), [], [], []
    for _ in range(30):
        for_a, for_b = decided_at(rng.random(maximum) < only_a + only_b, only_a / (only_a + only_b))
        either = for_a + for_b
        found.append(for_a.sum())
        wrong.append(for_b.sum())
        needed.append(either @ np.arange(1, maximum + 1) + (1 - either.sum()) * maximum)
    fixed, power, mean = fixed_power(maximum, only_a, only_b), float(np.mean(found)), float(np.mean(needed))
    print(
        f"sequential {rate_a} and {rate_b}, correlation {correlation}, N={maximum}: power {power:.3f} "
        f"(one test {fixed:.3f}), wrong {np.mean(wrong):.4f}, {mean:.0f} pairs ({mean / maximum:.2f})"
    )
    assert power >= fixed - loss
    assert mean <= share * maximum
    assert np.mean(wrong) <= 0.01
