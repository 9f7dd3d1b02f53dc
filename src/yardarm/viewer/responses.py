"""Shared by all of the viewer's responses: the application, required parameters, errors, event streams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from yardarm.errors import UsageError, one_line
from yardarm.pages import WEB, served_page
from yardarm.viewer.guard import SameOriginOnly

__all__ = ["application", "change", "page", "reporting_errors", "required", "stream", "whole_number"]

LONGEST_CHANGE = 1_000_000


def application(routes: Sequence[BaseRoute], hosts: Collection[str], lifespan: Any = None) -> Starlette:
    """An application with these routes and the pages' code, behind the guard."""
    return Starlette(
        routes=[*routes, Mount("/web", StaticFiles(directory=str(WEB)))],
        middleware=[Middleware(SameOriginOnly, hosts=hosts)],
        exception_handlers={404: _not_found},
        lifespan=lifespan,
    )


def page(kind: str) -> Callable[[Request], Response]:
    """A page that the module `kind` draws."""

    def answer(request: Request) -> Response:
        return HTMLResponse(served_page("Yardarm", kind))

    return answer


def required(request: Request, name: str) -> str:
    """A parameter that the address must have."""
    value = request.query_params.get(name)
    if not value:
        raise UsageError(f"'{name}' is missing from the address")
    return value


def whole_number(request: Request, name: str) -> int:
    """A whole number that the address must have."""
    text = required(request, name)
    if not text.isdecimal():
        raise UsageError(f"the {name} must be a number, got '{text}'")
    return int(text)


def reporting_errors(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Turn every exception into a message for the page, so that it breaks nothing else."""

    def guarded(request: Request) -> Response:
        try:
            return answer(request)
        except UsageError as error:
            return JSONResponse({"problem": str(error)}, 404)
        except Exception as error:
            return JSONResponse({"problem": f"This cannot be shown: {one_line(error)}"}, 500)

    return guarded


def change(path: str, answer: Callable[[Mapping[str, Any]], Any], editable: bool) -> Route:
    """A route that changes something: it takes a JSON object by POST, and answers with JSON.

    Other sites cannot send such a request: the guard refuses their pages, and JSON from elsewhere needs a permission
    that the viewer never gives.
    """

    async def changed(request: Request) -> Response:
        if not editable:
            return JSONResponse({"problem": "this viewer changes nothing; restart it with --edit=true"}, 403)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"problem": "changes are sent as application/json"}, 415)
        try:
            wanted = _json_object(await _body(request))
            return JSONResponse(await run_in_threadpool(answer, wanted))
        except UsageError as error:
            return JSONResponse({"problem": str(error)}, 400)
        except Exception as error:
            return JSONResponse({"problem": f"This failed: {one_line(error)}"}, 500)

    return Route(path, changed, methods=["POST"])


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_CHANGE:
            raise UsageError(f"a change must be smaller than {LONGEST_CHANGE:,} bytes")
    return body


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        wanted = json.loads(body)
    except ValueError as error:
        raise UsageError(f"a change must be JSON: {error}") from None
    if not isinstance(wanted, dict):
        raise UsageError(f"a change must be a JSON object, not {type(wanted).__name__}")
    return wanted


def stream(events: AsyncIterator[Mapping[str, Any]]) -> Response:
    """A stream of events for a page; an empty event means no news."""

    async def lines() -> AsyncIterator[str]:
        async for event in events:
            # A comment keeps the connection open, and reveals a closed one.
            yield f"data: {json.dumps(event, ensure_ascii=False)}\n\n" if event else ": no news\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def _not_found(request: Request, error: Exception) -> Response:
    return HTMLResponse(served_page("Yardarm", "not_found"), 404)
