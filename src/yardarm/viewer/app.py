"""The viewer's pages and what they fetch: a small web application over a folder of runs."""

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
from yardarm.viewer.answers import application, page, stream, telling, wanted, whole_number
from yardarm.viewer.catalogue import Catalogue
from yardarm.viewer.changes import Changes
from yardarm.viewer.episode_data import episode_data
from yardarm.viewer.rendering import Rendering, RenderingJob
from yardarm.viewer.training_catalogue import TrainingCatalogue
from yardarm.viewer.viewed_folder import ViewedFolder

__all__ = ["ViewerApp"]

PROGRESS_EVERY_S = 0.2
PAGES = {
    "/": "runs",
    "/run": "run_page",
    "/episode": "episode_page",
    "/compare": "compare_page",
    "/training": "training_page",
}


class ViewerApp:
    """The application. `closing` says when open streams shall end."""

    def __init__(self, root: Path, *, hosts: Collection[str], closing: Callable[[], bool]) -> None:
        viewed = ViewedFolder(root)
        self.catalogue = Catalogue(viewed)
        self.trainings = TrainingCatalogue(viewed)
        self.rendering = Rendering()
        self._changes = Changes(self.catalogue, self.trainings, closing)
        self._closing = closing
        routes = [
            *(Route(path, page(kind)) for path, kind in PAGES.items()),
            Route("/api/runs", telling(self._runs)),
            Route("/api/run", telling(self._run)),
            Route("/api/episode", telling(self._episode)),
            Route("/api/compare", telling(self._compare)),
            Route("/api/training", telling(self._training)),
            Route("/api/video", telling(self._video)),
            Route("/api/rendering", telling(self._rendering)),
            Route("/api/events", self._events),
        ]
        self.asgi = application(routes, hosts, self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(self.rendering.close)

    # What follows may read files, so Starlette runs it in threads.

    def _runs(self, request: Request) -> Response:
        return JSONResponse({"folder": str(self.catalogue.viewed.root), **self._changes.everything()})

    def _run(self, request: Request) -> Response:
        name = wanted(request, "run")
        stored = self.catalogue.result(name)
        comparison = opponent_data(stored, self.catalogue.viewed.contains)
        training = self.trainings.evaluated_by(stored.folder)
        return JSONResponse({"run": run_data(stored, name), "comparison": comparison, "training": training})

    def _episode(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(wanted(request, "run"))
        return JSONResponse(episode_data(stored, wanted(request, "task"), whole_number(request, "index")))

    def _compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        if len(names) < 2:
            raise UsageError("a comparison takes at least two runs: choose them in the list")
        folders = [self.catalogue.folder(name).path for name in names]
        runs = read_runs(folders, allow_unfinished=True)
        data = comparison_data(compare(runs), runs)
        return JSONResponse({**data, "places": names})

    def _training(self, request: Request) -> Response:
        data = self.trainings.data(wanted(request, "training"))
        return JSONResponse({**data, "underway": self._changes.lines_of(data["evaluating"])})

    def _video(self, request: Request) -> Response:
        stored = self.catalogue.stored_run(wanted(request, "run"))
        record = stored.find(wanted(request, "task"), whole_number(request, "index"))
        path = stored.folder.video(record.key, wanted(request, "camera"))
        if not path.is_file() or not self.catalogue.viewed.contains(path):
            raise UsageError("there is no such video yet")
        return FileResponse(path, media_type="video/mp4")

    # Streams of events.

    async def _events(self, request: Request) -> Response:
        """Tell of runs and trainings that have come, changed or gone: of all of them, or of one."""
        run, training = (request.query_params.get(kind) for kind in ("run", "training"))
        if run is not None:
            return stream(self._changes.of_run(run))
        return stream(self._changes.of_all() if training is None else self._changes.of_training(training))

    def _rendering(self, request: Request) -> Response:
        """Make an episode's video, if there is none, and tell how far that is."""
        stored = self.catalogue.stored_run(wanted(request, "run"))
        record = stored.find(wanted(request, "task"), whole_number(request, "index"))
        return stream(self._progress(stored.replay(record, request.query_params.get("camera", ""))))

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


def _said(job: RenderingJob, camera: str) -> dict[str, Any]:
    return {
        "waiting": not job.started,
        "frames": job.frames,
        "done": min(job.done, job.frames),
        "finished": job.finished,
        "problem": job.problem,
        "camera": camera,
    }
