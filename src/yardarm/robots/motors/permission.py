"""Ports that this user may not open: what every newcomer on Linux meets first."""

from __future__ import annotations

import os
import sys

__all__ = ["permission_hint"]


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


def _group(path: str) -> str:
    import grp

    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except KeyError:
        return "dialout"
