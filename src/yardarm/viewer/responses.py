"""What all of the viewer's answers have in common: who gets them, and what is said when there is none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from yardarm.errors import UsageError, one_line
from yardarm.pages import WEB, served_page
from yardarm.viewer.guard import OwnPagesOnly

__all__ = ["application", "page", "stream", "telling", "wanted", "whole_number"]


def application(routes: Sequence[BaseRoute], hosts: Collection[str], lifespan: Any = None) -> Starlette:
    """An application with these routes, its pages' code, and the guard before all of it."""
    return Starlette(
        routes=[*routes, Mount("/web", StaticFiles(directory=str(WEB)))],
        middleware=[Middleware(OwnPagesOnly, hosts=hosts)],
        exception_handlers={404: _nowhere},
        lifespan=lifespan,
    )


def page(kind: str) -> Callable[[Request], Response]:
    """A page that is drawn by the module of this name."""

    def answer(request: Request) -> Response:
        return HTMLResponse(served_page("Yardarm", kind))

    return answer


def wanted(request: Request, name: str) -> str:
    """A word that the address must have."""
    value = request.query_params.get(name)
    if not value:
        raise UsageError(f"'{name}' is missing in the address")
    return value


def whole_number(request: Request, name: str) -> int:
    """A number that the address must have."""
    text = wanted(request, name)
    if not text.isdecimal():
        raise UsageError(f"the {name} must be a number, got '{text}'")
    return int(text)


def telling(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """What cannot be answered is told on the page; what nobody thought of, too, and breaks nothing else."""

    def told(request: Request) -> Response:
        try:
            return answer(request)
        except UsageError as error:
            return JSONResponse({"problem": str(error)}, 404)
        except Exception as error:
            return JSONResponse({"problem": f"This cannot be shown: {one_line(error)}"}, 500)

    return told


def stream(events: AsyncIterator[Mapping[str, Any]]) -> Response:
    """Events for a page that listens, as they come; an empty one says that there is nothing new."""

    async def lines() -> AsyncIterator[str]:
        async for event in events:
            # A comment keeps the connection open, and shows a reader that has gone.
            yield f"data: {json.dumps(event, ensure_ascii=False)}\n\n" if event else ": nothing new\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def _nowhere(request: Request, error: Exception) -> Response:
    return HTMLResponse(served_page("Yardarm", "nowhere"), 404)
