"""The web application over a workspace: the viewer's pages and their data."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from yardarm.comparison import compare, read_runs
from yardarm.errors import UsageError
from yardarm.pages import comparison_data, opponent_data, run_data
from yardarm.replay import Replay
from yardarm.viewer.change_feed import ChangeFeed
from yardarm.viewer.episode_data import episode_data
from yardarm.viewer.rendering import Rendering, RenderingJob
from yardarm.viewer.rendering_ahead import RenderingAhead
from yardarm.viewer.responses import application, page, reporting_errors, required, stream, whole_number
from yardarm.viewer.workspace_routes import WorkspaceRoutes
from yardarm.workspace import Workspace

__all__ = ["ViewerApp"]

PROGRESS_EVERY_S = 0.2
PAGES = {
    "/": "runs",
    "/run": "run_page",
    "/episode": "episode_page",
    "/compare": "compare_page",
    "/training": "training_page",
    "/trash": "trash_page",
}


class ViewerApp:
    """The application. Open streams end when `closing` returns true."""

    def __init__(
        self,
        root: Path,
        *,
        hosts: Collection[str],
        closing: Callable[[], bool],
        editable: bool,
        render_ahead: bool = True,
    ) -> None:
        self.editable = editable
        self.workspace = Workspace(root)
        self.catalogue = self.workspace.runs
        self.trainings = self.workspace.trainings
        self.rendering = Rendering()
        self.ahead = RenderingAhead(self.catalogue, self.rendering) if render_ahead else None
        self._changes = ChangeFeed(self.workspace, closing)
        self._closing = closing
        routes = [
            *(Route(path, page(kind)) for path, kind in PAGES.items()),
            Route("/api/runs", reporting_errors(self._runs)),
            Route("/api/run", reporting_errors(self._run)),
            Route("/api/episode", reporting_errors(self._episode)),
            Route("/api/compare", reporting_errors(self._compare)),
            Route("/api/training", reporting_errors(self._training)),
            Route("/api/picture", reporting_errors(self._picture)),
            Route("/api/video", reporting_errors(self._video)),
            Route("/api/rendering", reporting_errors(self._rendering)),
            Route("/api/events", self._events),
            *WorkspaceRoutes(self.workspace, editable, self.rendering, self.ahead, self._changes.made).routes,
        ]
        self.asgi = application(routes, hosts, self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        if self.ahead is not None:
            await run_in_threadpool(self.ahead.close)
        await run_in_threadpool(self.rendering.close)

    # These handlers may read files, so Starlette runs them in threads.

    def _runs(self, request: Request) -> Response:
        root = self.workspace.viewed.root
        return JSONResponse({"folder": str(root), "editable": self.editable, **self.workspace.lines()})

    def _run(self, request: Request) -> Response:
        name = required(request, "run")
        stored = self.catalogue.result(name)
        comparison = opponent_data(stored, self.catalogue.viewed.contains)
        training = self.trainings.evaluated_by(stored.folder)
        if self.ahead is not None:
            self.ahead.open(name)
        return JSONResponse(
            {
                "run": run_data(stored, name),
                "comparison": comparison,
                "training": training,
                "line": self.catalogue.line(name),
                "editable": self.editable,
            }
        )

    def _episode(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(required(request, "run"))
        return JSONResponse(episode_data(stored, required(request, "task"), whole_number(request, "index")))

    def _compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        if len(names) < 2:
            raise UsageError(f"a comparison needs at least two runs, got {len(names)}; select them in the list")
        folders = [self.catalogue.folder(name).path for name in names]
        runs = read_runs(folders, allow_unfinished=True)
        data = comparison_data(compare(runs), runs)
        return JSONResponse({**data, "places": names})

    def _training(self, request: Request) -> Response:
        data = self.trainings.data(required(request, "training"))
        underway = self._changes.lines_of(data["evaluating"])
        line = self.trainings.line(data["name"])
        return JSONResponse({**data, "underway": underway, "line": line, "editable": self.editable})

    def _picture(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(required(request, "run"))
        record = stored.find(required(request, "task"), whole_number(request, "index"))
        return self._file(stored.folder.picture(record.key), "image/jpeg", "there is no picture of this episode")

    def _file(self, path: Path, kind: str, otherwise: str) -> Response:
        """A file of a run, unless it leads out of the viewed folder."""
        if not path.is_file() or not self.catalogue.viewed.contains(path):
            raise UsageError(otherwise)
        return FileResponse(path, media_type=kind)

    def _video(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(required(request, "run"))
        record = stored.find(required(request, "task"), whole_number(request, "index"))
        path = stored.folder.video(record.key, required(request, "camera"))
        return self._file(path, "video/mp4", "this video has not been rendered yet")

    # Streams of events.

    async def _events(self, request: Request) -> Response:
        """Stream changes of all runs and trainings, or of one."""
        run, training = (request.query_params.get(kind) for kind in ("run", "training"))
        if run is not None:
            return stream(self._changes.of_run(run))
        return stream(self._changes.of_all() if training is None else self._changes.of_training(training))

    def _rendering(self, request: Request) -> Response:
        """Render an episode's video, if there is none, and stream the progress."""
        stored = self.catalogue.stored_run(required(request, "run"))
        record = stored.find(required(request, "task"), whole_number(request, "index"))
        return stream(self._progress(stored.replay(record, request.query_params.get("camera", ""))))

    async def _progress(self, replay: Replay) -> AsyncIterator[Mapping[str, Any]]:
        camera = replay.film.camera
        if replay.path.is_file():
            yield {"finished": True, "camera": camera}
            return
        job = self.rendering.start(replay)
        while not job.finished and not self._closing():
            yield _status(job, camera)
            await asyncio.sleep(PROGRESS_EVERY_S)
        yield _status(job, camera)


def _status(job: RenderingJob, camera: str) -> dict[str, Any]:
    return {
        "waiting": not job.started,
        "frames": job.frames,
        "done": min(job.done, job.frames),
        "finished": job.finished,
        "problem": job.problem,
        "camera": camera,
    }
