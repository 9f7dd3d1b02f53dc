"""Decides which clients may connect, and which may read or change the settings.

A web page can make a browser send requests here: with an image or a form, which may hide where they come from; with a
WebSocket, which always says where it comes from (``Origin``); or, if the page's host name is made to point to this
machine (DNS rebinding), with any request, but then under that name (``Host``). So the settings are shown only under
known names. Policy clients are not web pages, and may use any name.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from websockets.http11 import Request

__all__ = ["Guard"]

# Nobody can register a public name with these endings.
PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")


@dataclass(frozen=True)
class Guard:
    """Checks a request's headers."""

    api_key: str | None
    hosts: Collection[str]
    """This server's names; addresses, names without a dot and private names are always accepted."""

    def has_key(self, request: Request) -> bool:
        """Whether the request has the right key, if one is needed."""
        if self.api_key is None:
            return True
        wanted = f"Api-Key {self.api_key}".encode()
        return any(hmac.compare_digest(sent.encode(), wanted) for sent in request.headers.get_all("Authorization"))

    def objection_to_settings(self, request: Request, changes: bool) -> str | None:
        """Why a request may not read or change the settings; None if it may."""
        host = _host(request)
        if not self._is_ours(host):
            return f"'{host}' is not a known name of this server; start it with --allowed_hosts={host or 'NAME'}"
        if "Origin" in request.headers or (changes and _is_browsers(request)):
            return "a page in a browser may not do this; use curl, or a program"
        return None

    def _is_ours(self, host: str) -> bool:
        own = {socket.gethostname().lower(), *(name.lower() for name in self.hosts)}
        return bool(host) and (host in own or "." not in host or host.endswith(PRIVATE_ENDINGS) or _is_number(host))


def _host(request: Request) -> str:
    """The host name in the request, without the port; empty if there is none, or more than one."""
    sent = request.headers.get_all("Host")
    try:
        return (urlsplit(f"//{sent[0]}").hostname or "") if len(sent) == 1 else ""
    except ValueError:
        return ""


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_browsers(request: Request) -> bool:
    """Whether a browser sent it: browsers send ``Sec-Fetch-`` headers or their name, and pages cannot prevent that."""
    names = " ".join(request.headers.get_all("User-Agent"))
    return "Mozilla/" in names or any(name.lower().startswith("sec-fetch-") for name, _ in request.headers.raw_items())
