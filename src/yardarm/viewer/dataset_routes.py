"""The web application over datasets: its pages and their data."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from yardarm.datasets import DatasetMetadata, Episode
from yardarm.datasets.browsing import for_browser
from yardarm.errors import UsageError
from yardarm.pages.dataset_data import dataset_data, dataset_episode_data
from yardarm.viewer.dataset_catalogue import DatasetCatalogue
from yardarm.viewer.dataset_checks import DatasetChecks
from yardarm.viewer.dataset_edits import DatasetEdits
from yardarm.viewer.responses import application, change, page, reporting_errors, required, whole_number

__all__ = ["DatasetApp"]

PAGES = {"/": "datasets", "/dataset": "dataset_page", "/dataset/episode": "dataset_episode"}


class DatasetApp:
    """The application. It changes only what a page of an `editable` viewer asks it to change."""

    def __init__(self, catalogue: DatasetCatalogue, *, hosts: Collection[str], editable: bool) -> None:
        self.catalogue = catalogue
        self.editable = editable
        self.checks = DatasetChecks()
        self.edits = DatasetEdits(catalogue)
        routes = [
            *(Route(path, page(kind)) for path, kind in PAGES.items()),
            Route("/api/datasets", reporting_errors(self._datasets)),
            Route("/api/dataset", reporting_errors(self._dataset)),
            Route("/api/dataset/episode", reporting_errors(self._episode)),
            Route("/api/dataset/video", reporting_errors(self._video)),
            Route("/api/dataset/picture", reporting_errors(self._picture)),
            Route("/api/dataset/checks", reporting_errors(self._checks)),
            Route("/api/dataset/applied", reporting_errors(self._applied)),
            change("/api/dataset/note", self.edits.note, editable),
            change("/api/dataset/clear", self.edits.clear, editable),
            change("/api/dataset/apply", self.edits.apply, editable),
        ]
        self.asgi = application(routes, hosts)

    def _datasets(self, request: Request) -> Response:
        folders = [str(folder) for folder in self.catalogue.folders.values()]
        return JSONResponse({"folders": folders, "datasets": self.catalogue.lines()})

    def _dataset(self, request: Request) -> Response:
        name = required(request, "dataset")
        meta = self.catalogue.metadata(name)
        self.catalogue.check_files(meta, meta.episodes)
        return JSONResponse(dataset_data(meta, name) | self._reviewed(meta))

    def _episode(self, request: Request) -> Response:
        meta, episode = self._requested_episode(request)
        return JSONResponse(dataset_episode_data(meta, episode) | self._reviewed(meta))

    def _reviewed(self, meta: DatasetMetadata) -> dict[str, Any]:
        return {"editable": self.editable, "review": self.edits.review(meta)}

    def _checks(self, request: Request) -> Response:
        name = required(request, "dataset")
        meta = self.catalogue.metadata(name)
        self.catalogue.check_files(meta, meta.episodes)
        return JSONResponse(self.checks.of(name, meta))

    def _applied(self, request: Request) -> Response:
        return JSONResponse(self.edits.progress(required(request, "dataset")))

    def _video(self, request: Request) -> Response:
        """The file with an episode's video, and perhaps others: the browser requests the parts that it plays."""
        meta, episode = self._requested_episode(request)
        key = _camera(request, episode.videos)
        path = meta.video_file(episode, key)
        if not path.is_file():
            raise UsageError(f"{path} is missing; the dataset is incomplete")
        return FileResponse(path, media_type="video/mp4")

    def _picture(self, request: Request) -> Response:
        meta, episode = self._requested_episode(request)
        pictures = self.catalogue.pictures(meta, episode, _camera(request, meta.image_keys))
        frame = whole_number(request, "frame")
        if frame >= len(pictures):
            raise UsageError(f"episode {episode.index} has {len(pictures)} frames, so there is no frame {frame}")
        picture = for_browser(pictures[frame])
        return Response(picture.content, media_type=picture.media_type)

    def _requested_episode(self, request: Request) -> tuple[DatasetMetadata, Episode]:
        meta = self.catalogue.metadata(required(request, "dataset"))
        index = whole_number(request, "index")
        if index >= len(meta.episodes):
            raise UsageError(f"there is no episode {index}; the dataset has {len(meta.episodes)}")
        episode = meta.episodes[index]
        self.catalogue.check_files(meta, [episode])
        return meta, episode


def _camera(request: Request, known: Collection[str]) -> str:
    key = required(request, "camera")
    if key not in known:
        raise UsageError(f"there is no camera '{key}'; the cameras are: {', '.join(known) or 'none'}")
    return key
