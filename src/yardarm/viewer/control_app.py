"""The page of a loop that moves an arm: its cameras, its joints, the arm itself, and how well the loop keeps its rate.

    the loop ──▶ LiveState ◀── this application, in a thread beside the loop ◀── the browser, some times a second

It looks at the newest turn only, so that a slow browser costs the loop nothing.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yardarm.control import LiveState
from yardarm.errors import UsageError, YardarmError
from yardarm.robots.twins import Painter, posed_arms
from yardarm.viewer.responses import application, change, page, reporting_errors, required
from yardarm.viewer.twin_app import viewpoint

__all__ = ["ControlApp"]

WIDEST = 640
QUALITY = 80


class ControlApp:
    """The application."""

    def __init__(self, state: LiveState, *, hosts: Collection[str], editable: bool) -> None:
        self._state, self._editable = state, editable
        self._why_no_arms = ""
        # Made now, before the loop begins: bodies take a moment to build.
        self._painters = self._arms()
        self.asgi: Starlette = application(
            [
                Route("/", page("control_page")),
                Route("/api/control", reporting_errors(self._now)),
                Route("/api/control/camera", reporting_errors(self._camera)),
                Route("/api/control/picture", reporting_errors(self._picture)),
                change("/api/control/press", self._press, editable),
            ],
            hosts,
        )

    def close(self) -> None:
        """End what draws."""
        for painter in self._painters.values():
            painter.close()

    # These handlers encode and draw, so Starlette runs them in threads.

    def _now(self, request: Request) -> Response:
        data = self._state.to_data()
        arms = list(self._painters) if self._state.tick is not None else []
        buttons = data["buttons"] if self._editable else []
        return JSONResponse({**data, "buttons": buttons, "arms": arms, "why_no_arms": self._why_no_arms})

    def _camera(self, request: Request) -> Response:
        name = required(request, "name")
        frames = self._state.frames
        if name not in frames:
            raise UsageError(f"there is no camera '{name}'; there are {', '.join(frames) or 'none'}")
        return Response(as_jpeg(frames[name].picture), media_type="image/jpeg", headers={"cache-control": "no-store"})

    def _picture(self, request: Request) -> Response:
        name, arms = required(request, "arm"), self._painters
        if name not in arms:
            raise UsageError(f"there is no arm '{name}' to draw; there are {', '.join(arms) or 'none'}")
        return Response(arms[name].paint(viewpoint(request)), media_type="image/jpeg")

    def _press(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        buttons = {button.name: button for button in self._state.buttons}
        if (name := wanted.get("button")) not in buttons:
            raise UsageError(f"there is no button {name!r}; there are {', '.join(buttons) or 'none'}")
        buttons[name].press()
        return {}

    def _arms(self) -> dict[str, Painter]:
        """What draws the arms."""
        try:
            arms = posed_arms(self._state.robot, self._positions, self._state.twin)
        except YardarmError as error:
            self._why_no_arms = str(error)
            return {}
        return {name: Painter(arm) for name, arm in arms.items()}

    def _positions(self) -> Mapping[str, Any]:
        tick = self._state.tick
        return {} if tick is None else tick.reading.values


def as_jpeg(picture: np.ndarray) -> bytes:
    """A picture for a browser: no larger than it shows, and depth as grey, near is bright."""
    if picture.dtype != np.uint8:
        depth = picture.reshape(picture.shape[:2]).astype(np.float32)
        seen = depth[depth > 0]
        farthest = float(np.percentile(seen, 98)) if seen.size else 1.0
        picture = np.where(depth > 0, 255 * (1 - np.clip(depth / farthest, 0, 1) * 0.9), 0).astype(np.uint8)
    every = max(1, picture.shape[1] // WIDEST)
    shown = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture[::every, ::every].squeeze())).save(shown, "JPEG", quality=QUALITY)
    return shown.getvalue()
