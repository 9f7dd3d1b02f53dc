"""RealSense cameras on a stand-in for Intel's SDK: what is asked of it, and what becomes of its answers."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from tests.robots.cameras.pictures import HEIGHT, WIDTH, plain
from yardarm.errors import CameraFault
from yardarm.robots.cameras import Camera, make_camera

SERIAL = "0123"


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A camera whose distances are in tenths of a millimetre."""
    sdk = MagicMock()
    device = MagicMock()
    device.get_info.side_effect = lambda what: SERIAL if what is sdk.camera_info.serial_number else "D405"
    sdk.context().query_devices.return_value = [device]
    profile = sdk.pipeline().start.return_value
    profile.get_device().first_depth_sensor().get_depth_scale.return_value = 0.0001
    frames = sdk.align().process.return_value
    frames.get_color_frame.return_value = SimpleNamespace(get_data=lambda: plain(90))
    frames.get_depth_frame.return_value = SimpleNamespace(get_data=lambda: np.full((HEIGHT, WIDTH), 7004, np.uint16))
    monkeypatch.setitem(sys.modules, "pyrealsense2", sdk)
    return sdk


def camera(**options: Any) -> Camera:
    size = {"width": WIDTH, "height": HEIGHT, "fps": 30}
    return make_camera("intelrealsense", serial_number_or_name="D405", use_depth=True, warmup_s=0, **size, **options)


def test_colour_and_distances_in_millimetres_are_of_one_moment(sdk: MagicMock) -> None:
    with camera() as own:
        frames = own.frames()
    assert frames["intelrealsense"].picture.max() == 90
    assert (frames["intelrealsense_depth"].picture == 700).all()
    assert len({frame.captured_s for frame in frames.values()}) == 1
    sdk.config().enable_device.assert_called_with(SERIAL)
    assert sdk.pipeline().stop.call_count == 1


def test_an_option_that_it_refuses_is_named_and_it_is_closed(sdk: MagicMock) -> None:
    sensor = sdk.pipeline().start.return_value.get_device().first_color_sensor()
    sensor.set_option.side_effect = RuntimeError("out of range value for argument")
    with pytest.raises(CameraFault, match="it refuses an option: out of range value for argument; check exposure"):
        camera(exposure=10**9).connect()
    assert sdk.pipeline().stop.call_count == 1
