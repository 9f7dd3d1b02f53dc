"""Cameras: what they give, when it was taken, and whether it is still true."""

from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.making import CAMERAS, camera_configs, make_camera
from yardarm.robots.cameras.shots import CameraStatus, Delivery, Shot

__all__ = [
    "CAMERAS",
    "Camera",
    "CameraConfig",
    "CameraStatus",
    "Delivery",
    "Shot",
    "camera_configs",
    "make_camera",
]
