"""A user who may not open a port is told what to do."""

from __future__ import annotations

import grp
import os
import sys
from pathlib import Path

import pytest

from yardarm.robots.motors.permission import permission_hint


@pytest.mark.skipif(os.geteuid() != 0 or not sys.platform.startswith("linux"), reason="becomes another user")
def test_a_user_who_may_not_open_a_port_is_told_the_group() -> None:
    port = Path("/dev/shm") / f"port-{os.getpid()}"
    port.touch(mode=0o660)
    os.chown(port, 0, grp.getgrnam("dialout").gr_gid)
    heard, said = os.pipe()
    try:
        if not (child := os.fork()):
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(said, permission_hint(str(port)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(said)
        text = os.read(heard, 4096).decode()
        assert permission_hint(str(port)) == ""
    finally:
        port.unlink()
        os.close(heard)
    assert f"you may not use {port}" in text
    assert "sudo usermod -aG dialout $USER" in text
