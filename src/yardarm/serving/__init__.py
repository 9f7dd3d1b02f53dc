"""Serves policies that Yardarm can load to clients on other machines."""

from yardarm.serving.backend import PolicyBackend
from yardarm.serving.config import ServeOptions
from yardarm.serving.run import serve_policy

__all__ = ["PolicyBackend", "ServeOptions", "serve_policy"]
