"""The page of a twin: the arm, its joints, and a slider for each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yardarm.errors import UsageError
from yardarm.robots.twins import Painter, Twin, Viewpoint
from yardarm.viewer.responses import application, change, page, reporting_errors, required

__all__ = ["TwinApp", "viewpoint"]


class TwinApp:
    """The application; `flags` are what to type to reach the twin from other commands."""

    def __init__(self, twin: Twin, flags: str, *, hosts: Collection[str], editable: bool) -> None:
        self._twin, self._flags = twin, flags
        self.painter = Painter(twin)
        self.asgi: Starlette = application(
            [
                Route("/", page("twin_page")),
                Route("/api/twin", reporting_errors(self._state)),
                Route("/api/twin/picture", reporting_errors(self._picture)),
                change("/api/twin/hold", self._hold, editable),
                change("/api/twin/release", self._release, editable),
            ],
            hosts,
        )

    # These handlers wait for the twin, or for a picture, so Starlette runs them in threads.

    def _state(self, request: Request) -> Response:
        twin = self._twin
        return JSONResponse(
            {
                "type": twin.type,
                "leader": twin.is_leader,
                "flags": self._flags,
                "model": twin.model.description,
                "seconds": twin.seconds,
                "requests": twin.requests,
                "injected": twin.injected,
                "lost": twin.clock.lost_s if twin.clock else 0.0,
                "joints": [
                    {**asdict(joint), "complaints": twin.complaints(joint.error)} for joint in twin.joint_states()
                ],
            }
        )

    def _picture(self, request: Request) -> Response:
        return Response(self.painter.paint(viewpoint(request)), media_type="image/jpeg")

    def _hold(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        if not wanted or not all(type(value) in (int, float) for value in wanted.values()):
            raise UsageError(f"positions are numbers by joint, got {dict(wanted)}")
        self._twin.hold(wanted)
        return {}

    def _release(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        names = wanted.get("joints")
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise UsageError(f"joints are a list of names, got {names!r}")
        self._twin.release(names)
        return {}


def viewpoint(request: Request) -> Viewpoint:
    """Where an address wants to see an arm from."""
    azimuth, elevation, distance, width = (_number(request, n) for n in ("azimuth", "elevation", "distance", "width"))
    return Viewpoint.from_values(azimuth, elevation, distance, int(width))


def _number(request: Request, name: str) -> float:
    text = required(request, name)
    try:
        number = float(text)
    except ValueError:
        number = float("inf")
    if not abs(number) < 1e6:
        raise UsageError(f"'{name}' must be a number, got '{text}'")
    return number
