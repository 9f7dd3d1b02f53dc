"""Cameras by their types' names, and from a robot's ``--robot.cameras``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from yardarm.config import decode, plain_value
from yardarm.errors import UsageError
from yardarm.registry import Registry
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.elsewhere import refuse_foreign

__all__ = ["CAMERAS", "camera_configs", "make_camera", "make_cameras"]

HERE = "yardarm.robots.cameras"
CAMERAS = Registry(
    "camera",
    "yardarm.cameras",
    {
        "file": f"{HERE}.file:FileCamera",
        "intelrealsense": f"{HERE}.realsense:RealSenseCamera",
        "opencv": f"{HERE}.opencv:OpenCVCamera",
        "sim": f"{HERE}.sim:SimCamera",
        "zmq": f"{HERE}.zmq:ZMQCamera",
    },
)
NAME = re.compile(r"[A-Za-z]\w*")
EXAMPLE = "{front: {type: opencv, index_or_path: 0, width: 640, height: 480, fps: 30}}"
# The command whose help lists the options of all types.
COMMAND = "find-cameras"
REQUIRED = ("width", "height", "fps")


def make_camera(type: str, **options: Any) -> Camera:
    """A camera by its type's name; `options` are those of its configuration: index_or_path, width, …"""
    driver = _driver(type)
    camera: Camera = driver(decode(driver.config_class, "camera", options, COMMAND))
    return camera


def make_cameras(configs: Mapping[str, CameraConfig]) -> dict[str, Camera]:
    """The cameras of a robot, which must say what they will give before they are connected."""
    cameras: dict[str, Camera] = {}
    for name, config in configs.items():
        if not NAME.fullmatch(name):
            raise UsageError(f"a camera cannot be called '{name}'; use letters, digits and '_', a letter first")
        if missing := [option for option in REQUIRED if getattr(config, option) is None]:
            raise UsageError(
                f"camera '{name}' of a robot needs {', '.join(missing)}; `yardarm find-cameras` lists them"
            )
        cameras[name] = CAMERAS.load(config.type)(config, name=name)
    names = [feature for camera in cameras.values() for feature in camera.features()]
    if twice := {feature for feature in names if names.count(feature) > 1}:
        raise UsageError(f"two cameras would give '{twice.pop()}'; give one of them another name")
    return cameras


def camera_configs(section: str, options: Mapping[str, Any]) -> dict[str, CameraConfig]:
    """The cameras of a section: of the map ``cameras``, and of ``cameras.front.fps``, which wins."""
    return {
        name: own if isinstance(own, CameraConfig) else _config(f"{section}.{name}", own)
        for name, own in _gathered(section, options).items()
    }


def _gathered(section: str, options: Mapping[str, Any]) -> dict[str, Any]:
    whole = plain_value(options.get("cameras") or {})
    if not isinstance(whole, Mapping):
        raise UsageError(f"--{section} must be a map of cameras, such as {EXAMPLE}, got {whole!r}")
    cameras: dict[str, Any] = dict(whole)
    for key, value in options.items():
        _, *path = key.split(".")
        if path:
            name, option = path[0], ".".join(path[1:])
            own = cameras.get(name) or {}
            if not option or not isinstance(own, Mapping):
                raise UsageError(f"--{section}.{name} must have options, such as --{section}.{name}.type=opencv")
            cameras[name] = {**own, option: value}
    return {str(name): own for name, own in cameras.items()}


def _config(section: str, own: Any) -> CameraConfig:
    own = plain_value(own)
    if not isinstance(own, Mapping):
        raise UsageError(f"--{section} must have options, such as {{type: opencv, index_or_path: 0}}, got {own!r}")
    options = dict(own)
    type = options.pop("type", None)
    if not isinstance(type, str) or not type:
        raise UsageError(f"--{section}.type is missing; use one of {', '.join(CAMERAS.names())}")
    try:
        config: CameraConfig = decode(_driver(str(type)).config_class, section, options, COMMAND)
    except UsageError as error:
        raise UsageError(str(error) if section in str(error) else f"--{section}: {error}") from error
    if missing := [name for name in REQUIRED if getattr(config, name) is None]:
        raise UsageError(
            f"--{section} needs {', '.join(missing)}, as every camera of a robot; `yardarm find-cameras` lists what "
            "cameras can do"
        )
    return config


def _driver(type: str) -> Any:
    if type not in CAMERAS.names():
        refuse_foreign("camera", type)
    return CAMERAS.load(type)
