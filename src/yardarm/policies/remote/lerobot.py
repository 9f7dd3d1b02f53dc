"""A LeRobot checkpoint of any type, run by LeRobot's own classes in LeRobot's own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.policies.remote.connection import Connection
from yardarm.policies.remote.policy import RemotePolicy
from yardarm.policies.remote.server_process import ServerProcess

__all__ = ["LeRobotPolicy"]


class LeRobotPolicy(RemotePolicy):
    """Starts ``yardarm-serve --backend=lerobot`` with another Python, and stops it with the run.

    `python` is the interpreter of an environment that has LeRobot, msgpack and websockets. Any field of the
    checkpoint's ``config.json`` can be overridden by its name.
    """

    def __init__(
        self,
        path: str | Path,
        python: str,
        *,
        revision: str | None = None,
        type: str | None = None,
        device: str = "auto",
        max_batch_size: int = 64,
        connections: int = 0,
        timeout_s: float = 300.0,
        patience_s: float = 300.0,
        rename_map: Mapping[str, str] | None = None,
        **overrides: Any,
    ) -> None:
        options = {"path": str(path), "device": device, "revision": revision, "type": type, **overrides}
        self._server = ServerProcess(
            str(python),
            [
                "--backend=lerobot",
                f"--max_batch_size={max_batch_size}",
                *(f"--policy.{name}={json.dumps(value)}" for name, value in options.items()),
            ],
        )
        try:
            super().__init__(
                self._server.start(),
                protocol="openpi",
                connections=connections,
                timeout_s=timeout_s,
                patience_s=patience_s,
                rename_map=rename_map,
            )
        except UsageError:
            self._server.close()
            raise

    @property
    def id(self) -> str:
        """The server's name for it, which follows from the checkpoint's content."""
        return super().id.removeprefix("remote-")

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it; the port is another each time."""
        return {name: value for name, value in super().describe().items() if name != "url"}

    def close(self) -> None:
        """Stop the server."""
        super().close()
        self._server.close()

    def _dial(self) -> Connection:
        self._server.start()  # again, if it died
        return super()._dial()
