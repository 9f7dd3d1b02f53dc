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
    """Where to listen, and what clients may do."""

    host: str = option("127.0.0.1", "where to listen; 0.0.0.0 is everywhere")
    port: int = option(8000, "0: any that is free")
    api_key: str | None = option(None, "what clients must know; YARDARM_API_KEY in the environment does it, too")
    allowed_hosts: str = option("", "further names under which /config answers, separated by commas")
    max_message_mb: float = option(64.0, "a larger message ends its connection")
    max_connections: int = option(256, "a further client is turned away")
    max_batch_size: int = option(64, "requests that are answered together, at most")
    max_wait_time: float | None = option(None, "seconds that a free policy waits for more requests; fit to the policy")
    exact: bool = option(True, "false: batches take any shape, and answers depend on it in the last bits")
    rename_map: dict[str, str] | None = option(None, '{"a client\'s name of an input": "the policy\'s", …}')

    def __post_init__(self) -> None:
        try:
            self.server_config()  # which knows its bounds, before a policy is loaded
        except BackendError as error:
            raise UsageError(str(error)) from error

    def server_config(self) -> ServerConfig:
        """As the server wants it."""
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
