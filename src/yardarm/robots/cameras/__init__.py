"""Cameras: what they give, when it was taken, and whether it is still true."""

from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.finding import FoundCamera, PictureMode, found_devices, found_realsenses
from yardarm.robots.cameras.making import CAMERAS, camera_configs, make_camera
from yardarm.robots.cameras.shots import CameraStatus, Delivery, Shot
from yardarm.robots.cameras.watching import CameraReport, save_picture, watch_camera

__all__ = [
    "CAMERAS",
    "Camera",
    "CameraConfig",
    "CameraReport",
    "CameraStatus",
    "Delivery",
    "FoundCamera",
    "PictureMode",
    "Shot",
    "camera_configs",
    "found_devices",
    "found_realsenses",
    "make_camera",
    "save_picture",
    "watch_camera",
]
