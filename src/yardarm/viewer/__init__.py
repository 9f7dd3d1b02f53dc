"""The viewer: runs in the browser, live, with videos that are rendered when they are asked for."""

from yardarm.viewer.server import FIRST_PORT, ViewOptions, serve_viewer

__all__ = ["FIRST_PORT", "ViewOptions", "serve_viewer"]
