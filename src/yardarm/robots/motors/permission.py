"""Ports that cannot be opened: what every newcomer meets first."""

from __future__ import annotations

import errno
import os
import sys

__all__ = ["permission_hint", "why_not_open"]


def why_not_open(path: str, error: Exception) -> str:
    """What is wrong with a port that could not be opened, and what to do."""
    if path == "twin" and not os.path.exists(path):
        return "this command starts no twins; start one with `yardarm twin`, and give the port that it prints"
    if not os.path.exists(path):
        return "there is no such port; is the cable plugged in? `yardarm find-port` lists what there is"
    if hint := permission_hint(path):
        return hint
    if getattr(error, "errno", None) in (errno.EWOULDBLOCK, errno.EBUSY):
        return "another program uses it; close that program first"
    if not _is_terminal(path):
        return "it is not a serial port; `yardarm find-port` lists what there is"
    return f"{error}; unplug the cable, plug it in again, and try again"


def permission_hint(path: str) -> str:
    """What to do if this user may not open a port; empty if that is not what is wrong."""
    if not os.path.exists(path) or os.access(path, os.R_OK | os.W_OK):
        return ""
    if not sys.platform.startswith("linux"):
        return f"you may not use {path}; change its permissions"
    group = _group(path)
    return (
        f"you may not use {path}; join the group that may, then log in again: sudo usermod -aG {group} $USER "
        f"(or, until the next restart: sudo chmod 666 {path})"
    )


def _is_terminal(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return not os.path.isdir(path)
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def _group(path: str) -> str:
    import grp

    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except KeyError:
        return "dialout"
