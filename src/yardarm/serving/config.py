"""The flags of ``yardarm serve``."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.config import option
from yardarm.errors import UsageError
from yardarm_serve import BackendError
from yardarm_serve.batching import Limits
from yardarm_serve.server import ServerConfig, names_of

__all__ = ["ServeOptions"]


@dataclass
class ServeOptions:
    """Where to listen, and the limits for clients."""

    host: str = option("127.0.0.1", "address to listen on; 0.0.0.0: all")
    port: int = option(8000, "port to listen on; 0: any free one")
    api_key: str | None = option(None, "the key that clients must send; or set YARDARM_API_KEY in the environment")
    allowed_hosts: str = option("", "more host names under which /config answers, separated by commas")
    max_message_mb: float = option(64.0, "a larger message closes its connection")
    max_connections: int = option(256, "more clients than this are turned away")
    max_batch_size: int = option(64, "the most requests to answer together")
    max_wait_time: float | None = option(
        None, "seconds that an idle policy waits for more requests; default: chosen for the policy"
    )
    exact: bool = option(True, "false: batches have any shape, which changes the last bits of answers")
    rename_map: dict[str, str] | None = option(None, '{"a client\'s name of an input": "the policy\'s name", …}')

    def __post_init__(self) -> None:
        try:
            self.server_config()  # checks the values, before a policy is loaded
        except BackendError as error:
            raise UsageError(str(error)) from error

    def server_config(self) -> ServerConfig:
        """The same as the server's configuration."""
        return ServerConfig(
            host=self.host,
            port=self.port,
            api_key=self.api_key,
            allowed_hosts=names_of(self.allowed_hosts),
            max_message_mb=self.max_message_mb,
            max_connections=self.max_connections,
            rename_map=self.rename_map or {},
            limits=Limits(self.max_batch_size, self.max_wait_time),
        )
