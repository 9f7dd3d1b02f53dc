"""The wandb package: whether it is installed, logged in and connected, and how to keep it from asking questions."""

from __future__ import annotations

import contextlib
import importlib
import io
import netrc
import os
import socket
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from packaging.version import Version

from yardarm.errors import SetupError

__all__ = ["can_be_reached", "import_wandb", "is_logged_in", "staging_in", "without_prompts"]

OLDEST = "0.24"
REACH_TIMEOUT_S = 5.0
INSTALL = "pip install 'yardarm[wandb]'"


def import_wandb() -> Any:
    """Import wandb; a folder named wandb, which it leaves behind, does not count."""
    wandb: Any = None
    with contextlib.suppress(ImportError):
        wandb = importlib.import_module("wandb")
    if not hasattr(wandb, "init"):
        raise SetupError(f"--wandb.enable=true needs the package wandb, which is not installed; run: {INSTALL}")
    if Version(wandb.__version__) < Version(OLDEST):
        raise SetupError(
            f"--wandb.enable=true needs wandb {OLDEST} or newer, but {wandb.__version__} is installed; run: {INSTALL}"
        )
    return wandb


def is_logged_in(wandb: Any) -> bool:
    """Whether credentials exist, found without prompting the user or using the network."""
    if wandb.run is not None or os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    settings = wandb.setup().settings
    if settings.api_key or settings.identity_token_file:
        return True
    # W&B's host has had two names, and keys for the older one work for both.
    hosts = (urlsplit(settings.base_url).netloc, "api.wandb.ai")
    named = os.environ.get("NETRC")
    for path in [Path(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]:
        with contextlib.suppress(OSError, netrc.NetrcParseError):
            file = netrc.netrc(path)
            if any(file.authenticators(host) for host in hosts):
                return True
    return False


def can_be_reached(wandb: Any) -> bool:
    """Whether the server accepts connections; behind a proxy only wandb itself can know, so assume it does."""
    if urllib.request.getproxies():
        return True
    address = urlsplit(wandb.setup().settings.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=REACH_TIMEOUT_S).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def without_prompts() -> Iterator[None]:
    """Keep wandb from prompting for a key: no one may be there, and the prompt would collide with the display."""
    stdin, sys.stdin = sys.stdin, io.StringIO()
    try:
        yield
    finally:
        sys.stdin = stdin


@contextlib.contextmanager
def staging_in(folder: Path) -> Iterator[None]:
    """Make wandb keep pending uploads in the run's folder, not in the user's home."""
    name = "WANDB_DATA_DIR"
    before = os.environ.get(name)
    os.environ[name] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
