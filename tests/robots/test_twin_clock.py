"""A twin lives from its first moment, however busy the machine is."""

from __future__ import annotations

import threading
import time

import pytest

from tests.helpers import wait_until
from yardarm.robots.twins import Twin

pytest.importorskip("mujoco")


def test_a_clock_that_runs_before_its_twin_is_ready_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def start_and_be_interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "twin's clock":
            time.sleep(0.05)

    monkeypatch.setattr(threading.Thread, "start", start_and_be_interrupted)
    with Twin("so101_follower", calibrated=True) as twin:
        wait_until(lambda: twin.seconds > 0.1)
