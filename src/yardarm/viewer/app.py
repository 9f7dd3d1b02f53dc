"""The viewer's pages and what they fetch: a small web application over a folder of runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from yardarm.comparison import compare, read_runs
from yardarm.errors import UsageError, one_line
from yardarm.evaluation import Replay
from yardarm.pages import WEB, comparison_data, opponent_data, run_data, served_page
from yardarm.viewer.catalogue import Catalogue
from yardarm.viewer.episode_data import episode_data
from yardarm.viewer.guard import OwnPagesOnly
from yardarm.viewer.rendering import Rendering, RenderingJob

__all__ = ["ViewerApp"]

LOOK_EVERY_S = 1.0
# How much longer to wait than the last walk took: a large folder shall not cost a core.
REST = 20
PROGRESS_EVERY_S = 0.2
PAGES = {"/": "runs", "/run": "run_page", "/episode": "episode_page", "/compare": "compare_page"}


class ViewerApp:
    """The application. `closing` says when open streams shall end."""

    def __init__(
        self, root: Path, *, hosts: Collection[str], trust_remote_code: bool = False, closing: Callable[[], bool]
    ) -> None:
        self.catalogue = Catalogue(root)
        self.rendering = Rendering()
        self._trust_remote_code = trust_remote_code
        self._closing = closing
        self.asgi = Starlette(
            routes=[
                *(Route(path, _page(kind)) for path, kind in PAGES.items()),
                Route("/api/runs", _telling(self._runs)),
                Route("/api/run", _telling(self._run)),
                Route("/api/episode", _telling(self._episode)),
                Route("/api/compare", _telling(self._compare)),
                Route("/api/video", _telling(self._video)),
                Route("/api/rendering", _telling(self._rendering)),
                Route("/api/events", self._events),
                Mount("/web", StaticFiles(directory=str(WEB))),
            ],
            middleware=[Middleware(OwnPagesOnly, hosts=hosts)],
            exception_handlers={404: _nowhere},
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self.rendering.close)

    # What follows may read files, so Starlette runs it in threads.

    def _runs(self, request: Request) -> Response:
        return JSONResponse({"folder": str(self.catalogue.root), "runs": self.catalogue.lines()})

    def _run(self, request: Request) -> Response:
        name = _wanted(request, "run")
        stored = self.catalogue.result(name)
        comparison = opponent_data(stored, self.catalogue.contains)
        return JSONResponse({"run": run_data(stored, name), "comparison": comparison})

    def _episode(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(_wanted(request, "run"), self._trust_remote_code)
        return JSONResponse(episode_data(stored, _wanted(request, "task"), _index(request)))

    def _compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        if len(names) < 2:
            raise UsageError("a comparison takes at least two runs: choose them in the list")
        folders = [self.catalogue.folder(name).path for name in names]
        runs = read_runs(folders, allow_unfinished=True)
        data = comparison_data(compare(runs), runs)
        return JSONResponse({**data, "places": names})

    def _video(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(_wanted(request, "run"), self._trust_remote_code)
        record = stored.find(_wanted(request, "task"), _index(request))
        path = stored.folder.video(record.key, _wanted(request, "camera"))
        if not path.is_file() or not self.catalogue.contains(path):
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
            known = before or {}  # who has just come, or come again, is told of all
            changed = [line for key, line in now.items() if known.get(key) != line]
            gone = [key for key in known if key not in now]
            news = changed or gone or before is None
            yield {"changed": changed, "gone": gone, "all": before is None} if news else {}
            before = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _lines(self, name: str | None) -> list[dict[str, Any]]:
        if name is None:
            return self.catalogue.lines()
        lines = []
        for own in (name, f"{name}/against"):  # a second policy's run is shown on the same page
            with contextlib.suppress(UsageError):
                lines.append(self.catalogue.line(own))
        return lines

    def _rendering(self, request: Request) -> Response:
        """Make an episode's video, if there is none, and tell how far that is."""
        stored = self.catalogue.stored_run(_wanted(request, "run"), self._trust_remote_code)
        record = stored.find(_wanted(request, "task"), _index(request))
        return _stream(self._progress(stored.replay(record, request.query_params.get("camera", ""))))

    async def _progress(self, replay: Replay) -> AsyncIterator[Mapping[str, Any]]:
        camera = replay.film.camera
        if replay.path.is_file():
            yield {"finished": True, "camera": camera}
            return
        job = self.rendering.start(replay)
        while not job.finished and not self._closing():
            yield _said(job, camera)
            await asyncio.sleep(PROGRESS_EVERY_S)
        yield _said(job, camera)


def _page(kind: str) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        return HTMLResponse(served_page("Yardarm", kind))

    return page


def _said(job: RenderingJob, camera: str) -> dict[str, Any]:
    return {
        "waiting": not job.started,
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


def _telling(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """What cannot be answered is told on the page; what nobody thought of, too, and breaks nothing else."""

    def told(request: Request) -> Response:
        try:
            return answer(request)
        except UsageError as error:
            return JSONResponse({"problem": str(error)}, 404)
        except Exception as error:
            return JSONResponse({"problem": f"This cannot be shown: {one_line(error)}"}, 500)

    return told


async def _nowhere(request: Request, error: Exception) -> Response:
    return HTMLResponse(served_page("Yardarm", "nowhere"), 404)
