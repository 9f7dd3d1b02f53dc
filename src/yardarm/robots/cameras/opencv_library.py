"""OpenCV, imported late, and told to fail soon and quietly: what goes wrong is said by the camera, in one line."""

from __future__ import annotations

import os
from typing import Any

from yardarm.errors import SetupError

__all__ = ["load_opencv"]

SETTINGS = {
    "OPENCV_LOG_LEVEL": "SILENT",
    "OPENCV_FFMPEG_LOGLEVEL": "-8",
    "OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT": "2",  # seconds; by default a camera that was unplugged blocks for 10
}


def load_opencv() -> Any:
    """The module `cv2`."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import cv2
    except ImportError as error:
        raise SetupError(f"cameras need OpenCV ({error}): pip install 'yardarm[robots]'") from None
    cv2.utils.logging.setLogLevel(0)  # somebody else may have imported it before
    return cv2
