"""Protects the viewer from pages of other sites."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["SameOriginOnly"]

# Pages load everything from the viewer itself, and no other site may show them in a frame.
SAFE = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' "
    "'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class SameOriginOnly:
    """Answers the viewer's own pages but not those of other sites, and sends browsers the matching headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check where a request comes from."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        # Refuse sites whose host name was made to point here (DNS rebinding); that is impossible with an IP address.
        host = _host(headers.get(b"host", b"").decode("latin-1"))
        foreign_host = host not in self._hosts and not _is_ip_address(host)
        foreign_page = headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
        if foreign_host or (foreign_page and scope["path"].startswith("/api/")):
            await JSONResponse({"problem": "only the viewer's own pages may request this"}, 403)(scope, receive, send)
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.lower().encode(), value.encode()) for name, value in SAFE.items()]
            await send(message)

        await self.app(scope, receive, send_safely)


def _host(header: str) -> str:
    """The host without the port."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
