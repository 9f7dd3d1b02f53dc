"""A user who may not open a port is told what to do."""

from __future__ import annotations

import grp
import os
import pty
import sys
from pathlib import Path

import pytest

from yardarm.errors import BusFault
from yardarm.robots.inspection import scan_port
from yardarm.robots.motors import FeetechBus
from yardarm.robots.motors.permission import permission_hint


def test_twin_is_no_port_of_a_command_that_starts_none() -> None:
    with pytest.raises(BusFault, match="this command starts no twins; start one with `yardarm twin`"):
        FeetechBus("twin", {}).connect()


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


def test_a_port_that_cannot_be_opened_is_answered_in_plain_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yardarm.robots.motors.line.LOCK_S", 0.0)
    (tmp_path / "file").touch()
    motors, port = pty.openpty()
    holder = FeetechBus(os.ttyname(port), {})
    holder.connect(handshake=False)
    try:
        for path, why in {
            str(tmp_path / "nothing"): "there is no such port; is the cable plugged in?",
            str(tmp_path / "file"): "it is not a serial port;",
            str(tmp_path): "it is not a serial port;",
            os.ttyname(port): "another program uses it; close that program first",
        }.items():
            with pytest.raises(BusFault) as fault:
                FeetechBus(path, {}).connect(handshake=False)
            assert str(fault.value).startswith(f"cannot open the port {path}: {why}")
            assert "Errno" not in str(fault.value)
            assert scan_port(path).in_words().startswith(why)
    finally:
        holder.line.close()
        os.close(motors)
        os.close(port)
