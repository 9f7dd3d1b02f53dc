"""Keeps the viewer to itself: who may ask, and what browsers are told."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["OwnPagesOnly"]

# Everything comes from the viewer itself, and a page of somebody else's may not show it in a frame.
SAFE = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' "
    "'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class OwnPagesOnly:
    """Answers its own pages and people, not the pages of other sites, and tells browsers to keep it so."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at where a request comes from."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        # A page of somebody else's that has its name point here is not answered; nobody can do that with a number.
        host = _host(headers.get(b"host", b"").decode("latin-1"))
        strange_name = host not in self._hosts and not _is_number(host)
        strange_page = headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin")
        if strange_name or (strange_page and scope["path"].startswith("/api/")):
            await JSONResponse({"problem": "this is for the viewer's own pages"}, 403)(scope, receive, send)
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.lower().encode(), value.encode()) for name, value in SAFE.items()]
            await send(message)

        await self.app(scope, receive, send_safely)


def _host(header: str) -> str:
    """The name without the port."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
