"""Changes that pages make to the workspace: labels, the trash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from yardarm.contents import list_of, text
from yardarm.errors import UsageError
from yardarm.viewer.rendering import Rendering
from yardarm.viewer.rendering_ahead import RenderingAhead
from yardarm.viewer.responses import change, reporting_errors
from yardarm.workspace import LabelChange, Line, TrashedFolder, Workspace

__all__ = ["WorkspaceRoutes"]


class WorkspaceRoutes:
    """The routes; those that change something do so only if the viewer is `editable`."""

    def __init__(
        self,
        workspace: Workspace,
        editable: bool,
        rendering: Rendering,
        ahead: RenderingAhead | None,
        on_change: Callable[[], None],
    ) -> None:
        self._workspace = workspace
        self._editable = editable
        self._rendering = rendering
        self._ahead = ahead
        self._on_change = on_change
        self.routes: list[BaseRoute] = [
            Route("/api/trash", reporting_errors(self._trash)),
            Route("/api/deletion", reporting_errors(self._deletion)),
            change("/api/label", self._announced(self._label), editable),
            change("/api/delete", self._announced(self._delete), editable),
            change("/api/restore", self._announced(self._restore), editable),
            change("/api/empty_trash", self._empty, editable),
        ]

    def _announced(self, work: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
        """The same, and all pages hear of it."""

        def changed(wanted: Mapping[str, Any]) -> Any:
            answer = work(wanted)
            self._on_change()
            return answer

        return changed

    def _trash(self, request: Request) -> Response:
        """Everything in the trash."""
        folders = [{**_entry(own), "size": own.size} for own in self._workspace.trash.folders()]
        root = self._workspace.viewed.root
        return JSONResponse({"folder": str(root), "editable": self._editable, "trash": folders})

    def _deletion(self, request: Request) -> Response:
        """What deleting the named folders would take away."""
        return JSONResponse(self._workspace.plan_deletion(request.query_params.getlist("name")).to_json())

    def _label(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        names = _names(wanted, "names")
        self._workspace.label(names, LabelChange.from_json(wanted.get("change", {})))
        return {"lines": [self._line(name) for name in names]}

    def _line(self, name: str) -> Line:
        catalogues = (self._workspace.evaluations, self._workspace.trainings, self._workspace.runs)
        for catalogue in catalogues[:-1]:
            try:
                return catalogue.line(name)
            except UsageError:
                continue  # it is of another kind
        return catalogues[-1].line(name)

    def _delete(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        names = _names(wanted, "names")
        for name in names:
            self._let_go(name, self._workspace.folder(name))
        return {"trash": [_entry(own) for own in self._workspace.delete(names)]}

    def _let_go(self, name: str, folder: Path) -> None:
        """See that nothing is being rendered into a folder."""
        if self._rendering.is_busy_in(folder):
            raise UsageError(f"a video of '{name}' is being rendered; wait until it is done")
        if self._ahead is not None:
            self._ahead.leave(folder)

    def _restore(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        trash = self._workspace.trash
        found = [trash.find(id) for id in _names(wanted, "ids")]
        return {"restored": [str(trash.restore(own)) for own in found]}

    def _empty(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return {"freed": self._workspace.trash.empty()}


def _entry(trashed: TrashedFolder) -> dict[str, Any]:
    return {"id": trashed.id, "name": trashed.record.place, "deleted": trashed.record.deleted}


def _names(wanted: Mapping[str, Any], field: str) -> list[str]:
    names = wanted.get(field)
    try:
        list_of(text)(names, field)
    except ValueError as error:
        raise UsageError(f"nothing was changed: {error}") from error
    assert isinstance(names, list)
    if not names:
        raise UsageError("nothing is selected")
    return names
