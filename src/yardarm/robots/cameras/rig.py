"""The cameras of a robot, together."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.making import make_cameras
from yardarm.robots.reading import Reading

__all__ = ["CameraRig"]


class CameraRig:
    """All of them are connected, or none."""

    def __init__(self, configs: Mapping[str, CameraConfig], taken: Container[str]) -> None:
        self.cameras: dict[str, Camera] = make_cameras(configs)
        for name in self.features:
            if name in taken:
                raise UsageError(f"a camera cannot be called '{name}': a joint is; give it another name")

    @property
    def features(self) -> dict[str, type | tuple[int, ...]]:
        """What they give."""
        return {name: shape for camera in self.cameras.values() for name, shape in camera.features().items()}

    def connect(self) -> None:
        """Connect them side by side, since each needs its time to warm up."""
        if not self.cameras:
            return
        threads = ThreadPoolExecutor(len(self.cameras), "camera connecting")
        try:
            for outcome in [threads.submit(camera.connect) for camera in self.cameras.values()]:
                outcome.result()
        except BaseException as error:
            # After Ctrl-C, nobody waits for a device that hangs: the arm is to be released now.
            threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            self.disconnect()
            raise
        threads.shutdown()

    def disconnect(self) -> None:
        """Disconnect those that are connected."""
        with contextlib.ExitStack() as all_of_them:
            for camera in self.cameras.values():
                if camera.is_connected:
                    all_of_them.callback(camera.disconnect)

    def reading(self, values: Mapping[str, Any], joints_s: float) -> Reading:
        """What joints say and cameras show, however old it is."""
        frames = {name: frame for camera in self.cameras.values() for name, frame in camera.frames().items()}
        pictures = {name: frame.picture for name, frame in frames.items()}
        return Reading({**values, **pictures}, joints_s, frames)

    def fresh_values(self, reading: Reading) -> dict[str, Any]:
        """What a reading says, without its times; raises `StaleFrame` if a picture is too old for that."""
        for camera in self.cameras.values():
            for name in camera.features():
                camera.require_fresh(reading.frames[name])
        return dict(reading.values)
