"""What the tests of robots share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psutil
import pytest

from tests.helpers import descendants


@pytest.fixture(autouse=True)
def _no_watchdog_outlives_its_test() -> Iterator[None]:
    """One that still tries to release a twin would find the next test's twin under the same path."""
    yield
    for process in descendants(os.getpid()):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if any("watchdog.py" in word for word in process.cmdline()):
                process.kill()
