"""Checks of options' values."""

from __future__ import annotations

import math

import pytest

from yardarm.config import positive
from yardarm.errors import UsageError


@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_what_is_not_above_zero_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match="--teleop_time_s must be positive, got "):
        positive("--teleop_time_s", value)
