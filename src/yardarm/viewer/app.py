"""The viewer's pages and what they fetch: a small web application over a folder of runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from yardarm.comparison import compare, read_runs
from yardarm.errors import UsageError, one_line
from yardarm.evaluation import Replay
from yardarm.pages import WEB, comparison_data, opponent_data, run_data, served_page
from yardarm.viewer.catalogue import Catalogue
from yardarm.viewer.episode_data import episode_data
from yardarm.viewer.rendering import Rendering, RenderingJob

__all__ = ["ViewerApp"]

LOOK_EVERY_S = 1.0
# How much longer to wait than the last walk took: a large folder shall not cost a core.
REST = 20
PROGRESS_EVERY_S = 0.2
PAGES = {"/": "runs", "/run": "run_page", "/episode": "episode_page", "/compare": "compare_page"}
# Everything comes from the viewer itself, and a page of somebody else's may not show it in a frame.
SAFE = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' "
    "'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class ViewerApp:
    """The application. `closing` says when open streams shall end."""

    def __init__(
        self, root: Path, *, hosts: list[str], trust_remote_code: bool = False, closing: Callable[[], bool]
    ) -> None:
        self.catalogue = Catalogue(root)
        self.rendering = Rendering()
        self._trust_remote_code = trust_remote_code
        self._closing = closing
        self.asgi = Starlette(
            routes=[
                *(Route(path, self._page(kind)) for path, kind in PAGES.items()),
                Route("/api/runs", self._runs),
                Route("/api/run", self._run),
                Route("/api/episode", self._episode),
                Route("/api/compare", self._compare),
                Route("/api/video", self._video),
                Route("/api/events", self._events),
                Route("/api/rendering", self._rendering),
                Mount("/web", StaticFiles(directory=str(WEB))),
            ],
            middleware=[
                # A page of somebody else's that has its name point here is not answered.
                Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
                Middleware(OwnPagesOnly),
            ],
            exception_handlers={UsageError: _refused, Exception: _failed},
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self.rendering.close)

    def _page(self, kind: str) -> Callable[[Request], Response]:
        def page(request: Request) -> Response:
            return HTMLResponse(served_page("Yardarm", kind))

        return page

    # What follows may read files, so Starlette runs it in threads.

    def _runs(self, request: Request) -> Response:
        return JSONResponse({"folder": str(self.catalogue.root), "runs": self.catalogue.lines()})

    def _run(self, request: Request) -> Response:
        name = _wanted(request, "run")
        stored = self.catalogue.result(name)
        return JSONResponse({"run": run_data(stored, name), "comparison": opponent_data(stored)})

    def _episode(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(_wanted(request, "run"), self._trust_remote_code)
        return JSONResponse(episode_data(stored, _wanted(request, "task"), _index(request)))

    def _compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        folders = [self.catalogue.folder(name).path for name in names]
        runs = read_runs(folders, allow_unfinished=True)
        data = comparison_data(compare(runs), runs)
        return JSONResponse({**data, "places": names})

    def _video(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(_wanted(request, "run"), self._trust_remote_code)
        record = stored.find(_wanted(request, "task"), _index(request))
        path = stored.folder.video(record.key, _wanted(request, "camera"))
        if not self.catalogue.has(path):
            raise UsageError("there is no such video yet")
        return FileResponse(path, media_type="video/mp4")

    # Streams of events.

    async def _events(self, request: Request) -> Response:
        """Tell of runs that have come, changed or gone: of all of them, or of one."""
        return _stream(self._changes(request.query_params.get("run")))

    async def _changes(self, name: str | None) -> AsyncIterator[Mapping[str, Any]]:
        before: dict[str, Any] | None = None
        next_walk = 0.0
        while not self._closing():
            started = time.monotonic()
            if before is None or started >= next_walk:
                lines = await run_in_threadpool(self._lines, name)
                next_walk = started + REST * (time.monotonic() - started)
            else:
                lines = await run_in_threadpool(self.catalogue.brought_up_to_date, before.values())
            now = {line["name"]: line for line in lines}
            if before is not None:
                changed = [line for key, line in now.items() if before.get(key) != line]
                gone = [key for key in before if key not in now]
                yield {"changed": changed, "gone": gone} if changed or gone else {}
            else:
                yield {"changed": [], "gone": []}  # the stream is open
            before = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _lines(self, name: str | None) -> list[dict[str, Any]]:
        if name is None:
            return self.catalogue.lines()
        try:
            return [self.catalogue.line(name)]
        except UsageError:
            return []

    async def _rendering(self, request: Request) -> Response:
        """Make an episode's video, if there is none, and tell how far that is."""
        replay = await run_in_threadpool(self._replay, request)
        return _stream(self._progress(replay))

    def _replay(self, request: Request) -> Replay:
        stored = self.catalogue.stored_run(_wanted(request, "run"), self._trust_remote_code)
        record = stored.find(_wanted(request, "task"), _index(request))
        return stored.replay(record, request.query_params.get("camera", ""))

    async def _progress(self, replay: Replay) -> AsyncIterator[Mapping[str, Any]]:
        camera = replay.film.camera
        if replay.path.is_file() and replay.folder.trace(replay.record.key).is_file():
            yield {"finished": True, "camera": camera}
            return
        job = self.rendering.start(replay)
        while not job.finished and not self._closing():
            yield _said(job, camera)
            await asyncio.sleep(PROGRESS_EVERY_S)
        yield _said(job, camera)


class OwnPagesOnly:
    """Answers its own pages and people, not the pages of other sites, and tells browsers to keep it so."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at where a request comes from."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        site = dict(scope["headers"]).get(b"sec-fetch-site", b"none")
        if scope["path"].startswith("/api/") and site not in (b"none", b"same-origin"):
            await JSONResponse({"problem": "this is for the viewer's own pages"}, 403)(scope, receive, send)
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.lower().encode(), value.encode()) for name, value in SAFE.items()]
            await send(message)

        await self.app(scope, receive, send_safely)


def _said(job: RenderingJob, camera: str) -> dict[str, Any]:
    return {
        "frames": job.frames,
        "done": min(job.done, job.frames),
        "finished": job.finished,
        "problem": job.problem,
        "camera": camera,
    }


def _stream(events: AsyncIterator[Mapping[str, Any]]) -> Response:
    async def lines() -> AsyncIterator[str]:
        async for event in events:
            # A comment keeps the connection open, and shows a reader that has gone.
            yield f"data: {json.dumps(event, ensure_ascii=False)}\n\n" if event else ": nothing new\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


def _wanted(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if not value:
        raise UsageError(f"'{name}' is missing in the address")
    return value


def _index(request: Request) -> int:
    text = _wanted(request, "index")
    if not text.isdecimal():
        raise UsageError(f"the episode's index must be a number, got '{text}'")
    return int(text)


async def _failed(request: Request, error: Exception) -> Response:
    """What nobody thought of breaks one answer, and is told on its page."""
    return JSONResponse({"problem": f"This cannot be shown: {one_line(error)}"}, 500)


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"problem": str(error)}, 404)
