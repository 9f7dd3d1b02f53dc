"""Serves a robot policy over a WebSocket, from whatever environment the policy needs.

Beside the policy it needs numpy, msgpack and websockets, and Python 3.10.
"""

from yardarm_serve.backend import Answer, Backend, BackendError, Contract, Episode, Look, Request
from yardarm_serve.server import ServerConfig, serve

__all__ = [
    "Answer",
    "Backend",
    "BackendError",
    "Contract",
    "Episode",
    "Look",
    "Request",
    "ServerConfig",
    "__version__",
    "serve",
]

__version__ = "0.1.0"
