"""A loop's thread comes first, where that is allowed, and all is as before afterwards."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import pytest

from yardarm.control import undisturbed

RESET = getattr(os, "SCHED_RESET_ON_FORK", 0)


def policy() -> int:
    return os.sched_getscheduler(0) & ~RESET


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="only Linux has it")
def test_the_loops_thread_comes_first_and_no_other() -> None:
    before, others = (policy(), sys.getswitchinterval()), list[int]()
    with undisturbed():
        own = policy()
        thread = threading.Thread(target=lambda: others.append(policy()))
        thread.start()
        thread.join()
        assert gc.get_freeze_count() > 0
        assert sys.getswitchinterval() < 0.001
    assert own in (os.SCHED_RR, before[0])  # the second, where it is not allowed
    assert others == [before[0]]
    assert (policy(), sys.getswitchinterval()) == before
    assert gc.get_freeze_count() == 0


LOSES_ITS_RIGHTS = """
import os
from yardarm.control import undisturbed
with undisturbed():
    had = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    os.setuid(65534)
print(had == os.SCHED_RR, os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler") or os.getuid() != 0, reason="only root can lose its rights")
def test_whoever_has_the_right_to_priority_and_no_other_gives_it_back() -> None:
    """As a line in limits.conf allows it: such a user may not undo that children start without priority."""
    found = subprocess.run([sys.executable, "-c", LOSES_ITS_RIGHTS], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    if found.stdout.startswith("False"):
        pytest.skip("this system allows no priority")
    assert found.stdout == "True True\n"


def test_without_permission_or_wish_it_works_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    for wish in (True, False):
        with undisturbed(wish):
            assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
