from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.stats import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Values of Newcombe (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_the_published_values(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(trials=st.integers(0, 1000), fraction=st.floats(0, 1), confidence=st.floats(0.5, 0.999))
def test_an_interval_holds_its_rate_and_mirrors(trials: int, fraction: float, confidence: float) -> None:
    successes = round(trials * fraction)
    interval = wilson(successes, trials, confidence)
    mirrored = wilson(trials - successes, trials, confidence)
    assert 0 <= interval.low <= (successes / trials if trials else 0.5) <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 3"):
        wilson(4, 3)
