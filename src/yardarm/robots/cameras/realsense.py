"""Intel RealSense cameras: colour, and distances in millimetres. Written for the SDK; never tried on a camera."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import CameraFault, SetupError, UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import RGB, CameraConfig
from yardarm.robots.cameras.shots import Delivery

__all__ = ["RealSenseCamera", "RealSenseCameraConfig", "connected_realsenses", "load_realsense"]

WAIT_MS = 2000
MM_PER_M = 1000.0


@dataclass
class RealSenseCameraConfig(CameraConfig):
    """Flags of cameras of the type ``intelrealsense``."""

    type: ClassVar[str] = "intelrealsense"

    serial_number_or_name: str = option("", "its serial number, or its name if there is one of that name")
    use_rgb: bool = option(True, "give pictures in colour")
    use_depth: bool = option(False, "give distances, too: 16 bits, in millimetres")
    exposure: int | None = option(None, "how long a picture is exposed [the camera decides]")
    gain: int | None = option(None, "how much a picture is amplified [the camera decides]")
    white_balance: int | None = option(None, "the colour of white, in kelvin [the camera decides]")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.serial_number_or_name = str(self.serial_number_or_name)
        if not self.serial_number_or_name:
            raise UsageError("serial_number_or_name is missing; `yardarm find-cameras realsense` lists them")
        if not (self.use_rgb or self.use_depth):
            raise UsageError("use_rgb and use_depth are both false; the camera would give nothing")
        if len({self.fps is None, self.width is None}) > 1:
            raise UsageError("fps, width and height belong together; give all three, or none")

    @property
    def source(self) -> str:
        """The camera."""
        return self.serial_number_or_name

    @property
    def has_color(self) -> bool:
        """Whether colour was asked for."""
        return self.use_rgb

    @property
    def has_depth(self) -> bool:
        """Whether distances were asked for."""
        return self.use_depth


class RealSenseCamera(Camera):
    """Colour and distances of one moment; distances are seen from the colour camera's place if both are wanted."""

    config_class = RealSenseCameraConfig
    given_colors = RGB

    _pipeline: Any = None
    _align: Any = None
    _scale_mm = 1.0

    def check_settings(self) -> None:
        """The SDK is there."""
        load_realsense()

    def open_device(self) -> None:
        """Start both streams as asked for, and set what the camera shall not decide itself."""
        rs, config = load_realsense(), self.config
        wanted = rs.config()
        wanted.enable_device(_serial_number(config.serial_number_or_name))
        size = [*config.device_size, int(config.fps)] if config.device_size and config.fps else None
        for is_wanted, stream, kind in (
            (config.use_rgb, rs.stream.color, rs.format.rgb8),
            (config.use_depth, rs.stream.depth, rs.format.z16),
        ):
            if is_wanted:
                wanted.enable_stream(*([stream, *size[:2], kind, size[2]] if size else [stream]))
        pipeline = rs.pipeline()
        try:
            profile = pipeline.start(wanted)
        except RuntimeError as error:
            asked = f"{size[0]}×{size[1]} at {size[2]} pictures a second" if size else "its own size and rate"
            raise CameraFault(f"asked for {asked}, it answers: {error}") from None
        self._pipeline = pipeline
        self._align = rs.align(rs.stream.color) if config.use_rgb and config.use_depth else None
        try:
            if config.use_depth:
                self._scale_mm = profile.get_device().first_depth_sensor().get_depth_scale() * MM_PER_M
            self._set_options(rs, profile)
        except RuntimeError as error:
            raise CameraFault(f"it refuses an option: {error}; check exposure, gain and white_balance") from None

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        """Wait for the next pictures."""
        import numpy as np

        if self._pipeline is None:
            raise CameraFault("it is closed")
        try:
            frames = self._pipeline.wait_for_frames(WAIT_MS)
        except RuntimeError as error:
            raise CameraFault(f"it gives no picture: {error}") from None
        captured_s = self.clock.now()
        if self._align is not None:
            frames = self._align.process(frames)
        color = depth = None  # the SDK reuses its memory, so both are copied
        if self.config.use_rgb:
            color = np.array(frames.get_color_frame().get_data())
        if self.config.use_depth:
            raw = np.array(frames.get_depth_frame().get_data())
            same = abs(self._scale_mm - 1) < 1e-6
            depth = raw if same else (raw * self._scale_mm).round().clip(0, 65535).astype(np.uint16)
        return Delivery(color, depth, captured_s)

    def close_device(self) -> None:
        """Stop both streams."""
        if self._pipeline is not None:
            self._pipeline.stop()
            self._pipeline = None

    def _set_options(self, rs: Any, profile: Any) -> None:
        config, device = self.config, profile.get_device()
        if not config.use_rgb:
            return
        sensor = device.first_color_sensor()
        for name, value, automatic in (
            ("exposure", config.exposure, rs.option.enable_auto_exposure),
            ("gain", config.gain, rs.option.enable_auto_exposure),
            ("white_balance", config.white_balance, rs.option.enable_auto_white_balance),
        ):
            if value is not None:
                if sensor.supports(automatic):
                    sensor.set_option(automatic, 0)
                sensor.set_option(getattr(rs.option, name), value)


def load_realsense() -> Any:
    """The SDK."""
    try:
        import pyrealsense2
    except ImportError:
        raise SetupError("RealSense cameras need Intel's SDK: pip install 'yardarm[realsense]'") from None
    return pyrealsense2


def connected_realsenses() -> dict[str, str]:
    """The names of the cameras that are plugged in, by serial number."""
    rs = load_realsense()
    info = rs.camera_info
    return {device.get_info(info.serial_number): device.get_info(info.name) for device in rs.context().query_devices()}


def _serial_number(wanted: str) -> str:
    found = connected_realsenses()
    if wanted in found:
        return wanted
    named = [serial for serial, name in found.items() if name == wanted]
    if len(named) == 1:
        return named[0]
    listed = ", ".join(f"{serial} ({name})" for serial, name in found.items()) or "none"
    problem = f"{len(named)} cameras are called '{wanted}'; give a serial number" if named else "it is not plugged in"
    raise CameraFault(f"{problem}; there is {listed}")
