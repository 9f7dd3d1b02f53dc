"""Serves a robot policy over a WebSocket, from the environment that the policy needs.

In addition to the policy, it needs Python 3.10, numpy, msgpack and websockets.
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
