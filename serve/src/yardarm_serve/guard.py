"""Who may come in, and who may see or change the settings.

A web page can have a browser send requests here: by an image or a form, which need not say where they come from; by a
WebSocket, which always says it (``Origin``); and, if the page's own name is made to point to this machine (DNS
rebinding), by any request, but then under that name (``Host``). So the settings are told under known names only; policy
clients, which are no pages, come in by any name.
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

# Nobody can buy a name that ends so, and have it point here.
PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")


@dataclass(frozen=True)
class Guard:
    """Looks at a request's headers."""

    api_key: str | None
    hosts: Collection[str]
    """Names of this server; addresses, names without a dot and private names are accepted anyway."""

    def has_key(self, request: Request) -> bool:
        """Whether it knows the key, if there is one."""
        if self.api_key is None:
            return True
        wanted = f"Api-Key {self.api_key}".encode()
        return any(hmac.compare_digest(sent.encode(), wanted) for sent in request.headers.get_all("Authorization"))

    def objection_to_settings(self, request: Request, changes: bool) -> str | None:
        """Why a request may not see the settings, or may not change them."""
        host = _host(request)
        if not self._is_ours(host):
            return f"'{host}' is not known as a name of this server; start it with --allowed_hosts={host or 'NAME'}"
        if "Origin" in request.headers or (changes and _is_browsers(request)):
            return "a page in a browser may not do this; use curl, or a program"
        return None

    def _is_ours(self, host: str) -> bool:
        own = {socket.gethostname().lower(), *(name.lower() for name in self.hosts)}
        return bool(host) and (host in own or "." not in host or host.endswith(PRIVATE_ENDINGS) or _is_number(host))


def _host(request: Request) -> str:
    """The name that the server was asked by, without the port; nothing, if there is none, or more than one."""
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
    """Browsers send ``Sec-Fetch-`` to this machine only, and their own name to all; no foreign page changes that."""
    names = " ".join(request.headers.get_all("User-Agent"))
    return "Mozilla/" in names or any(name.lower().startswith("sec-fetch-") for name, _ in request.headers.raw_items())
