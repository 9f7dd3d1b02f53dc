"""A policy behind a socket."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

from yardarm.errors import ConnectionFault, PolicyFault, UsageError, nearest
from yardarm.policies.protocol import ActionChunk, Look, ObservationSpec, Outcome, Request
from yardarm.policies.remote.connection import Address, Connection, Reply
from yardarm.policies.remote.pool import ConnectionPool, EpisodeConnection
from yardarm.policies.remote.protocols import PROTOCOLS, VlaEvalConnection, YardarmConnection, dial
from yardarm.policies.remote.translation import DirectTranslation, MappedTranslation, Translation, TranslationOptions
from yardarm.policies.traits import Traits
from yardarm.tasks import EpisodeSpec, TaskSpec
from yardarm_serve.openpi import YARDARM
from yardarm_serve.server import KEY_VARIABLE

__all__ = ["RemotePolicy"]

# As many as there can be workers.
MOST_LANES = 64


class RemotePolicy:
    """Asks a server that speaks openpi's or vla-eval's protocol; every running episode has a connection of its own.

    `observations` maps the server's names to what is sent under them, `actions` brings its actions into the
    environment's form; presets serve LIBERO and Meta-World, and a server that knows Yardarm needs neither. Of a chunk,
    `replan` actions are played. While a server cannot be reached, the policy waits up to `patience_s`.
    """

    place: Literal["host"] = "host"
    wants = ObservationSpec()

    def __init__(
        self,
        url: str,
        *,
        protocol: str = "auto",
        observations: Mapping[str, Any] | None = None,
        actions: Mapping[str, Any] | None = None,
        replan: int = 0,
        connections: int = 0,
        timeout_s: float = 300.0,
        patience_s: float = 300.0,
        api_key: str | None = None,
        rename_map: Mapping[str, str] | None = None,
        check: bool = True,
        name: str | None = None,
    ) -> None:
        if protocol not in PROTOCOLS:
            known = f"{nearest(protocol, PROTOCOLS)} one of {', '.join(PROTOCOLS)}"
            raise UsageError(f"--policy.protocol={protocol} is unknown{known}")
        if not str(url).startswith(("ws://", "wss://")):
            raise UsageError(f"--policy.url={url} is no address of a server; it looks like ws://host:8000")
        if "@" in urlsplit(str(url)).netloc:  # it would be written into the run's files
            raise UsageError("--policy.url must hold no password; a key is given as --policy.api_key")
        _check_numbers(replan=(replan, 0), connections=(connections, 0), patience_s=(patience_s, 0))
        _check_numbers(timeout_s=(timeout_s, 0.001))
        key = str(api_key) if api_key else os.environ.get(KEY_VARIABLE)
        self._address = Address(str(url), key or None, float(timeout_s))
        self._protocol = protocol
        self._wishes = TranslationOptions(observations, actions, int(replan), rename_map or {}, check)
        self._name = None if name is None else str(name)
        self._pool = ConnectionPool(self._dial, float(patience_s))
        self._served: str | None = None
        lanes = min(int(connections) or MOST_LANES, MOST_LANES)
        self.traits = Traits(lanes=lanes, own_time_limits=True)

    def prepare(self, tasks: Sequence[TaskSpec]) -> None:
        """Meet the server, and settle what it is sent and what is played of its answers."""
        self._pool.open()
        try:
            connection = self._dial()
        except ConnectionFault as fault:
            raise UsageError(f"{fault}; is the server running there?") from fault
        try:
            self._agree(connection, tasks)
        except BaseException:
            connection.close()
            raise
        self._pool.put(connection)

    def _agree(self, connection: Connection, tasks: Sequence[TaskSpec]) -> None:
        self._declared = connection.declared
        # Further connections need not find it out again.
        self._protocol = "vla-eval" if isinstance(connection, VlaEvalConnection) else "openpi"
        self._translation: Translation
        if isinstance(connection, YardarmConnection):
            contract = connection.declared[YARDARM]
            self._translation = DirectTranslation.agree(connection, contract, tasks, self._wishes)
            most = self.traits.lanes or MOST_LANES
            lanes = min(most, contract["episodes"] or most)
            self.traits = replace(self.traits, action_size=contract["action_size"], lanes=lanes)
        else:
            self._translation = MappedTranslation.agree(connection, self._protocol, tasks, self._wishes)
        self.wants = self._translation.wants

    @property
    def id(self) -> str:
        """What can be known of it: a server that knows Yardarm names its policy, another is known by its address.

        What is sent and played is part of it: with another mapping it is another policy.
        """
        name = self._name or (f"remote-{self._served}" if self._served else "remote")
        parts: list[Any] = [self._translation.to_json()]
        if name == "remote":
            parts += [self._address.url, _plain(self._declared)]
        if parts == [{"rename_map": {}}]:
            return name
        return f"{name}-{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]}"

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        repeatable = bool(self._declared.get(YARDARM, {}).get("repeatable")) and self._protocol == "openpi"
        return {
            "url": self._address.url,
            "repeatable": repeatable,
            "declared": _plain(self._declared),
            **self._translation.to_json(),
        }

    def start(self, episode: EpisodeSpec) -> EpisodeConnection:
        """Nothing is sent yet: the scheduler must not wait for a server."""
        return EpisodeConnection()

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Ask for each; with several lanes there is one request at a time."""
        return [self._ask(request) for request in requests]

    def finish(self, state: EpisodeConnection, outcome: Outcome | None) -> None:
        """Give the episode's connection back."""
        state.over, state.outcome = True, outcome
        self._pool.settle(state)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _ask(self, request: Request) -> ActionChunk:
        link: EpisodeConnection = request.state
        instruction = request.episode.task.instruction
        looks = [Look(look.step, self._translation.sent(look.values, instruction)) for look in request.looks]
        try:
            with link.lock:
                try:
                    if link.connection is not None:
                        reply = link.connection.ask(looks, instruction)
                    else:
                        reply = self._begin(link, request.episode, looks)
                except (ConnectionFault, PolicyFault):
                    self._pool.drop(link)
                    raise
        finally:
            self._pool.settle(link)
        return self._translation.chunk(reply)

    def _begin(self, link: EpisodeConnection, episode: EpisodeSpec, looks: Sequence[Look]) -> Reply:
        """The first look of an episode: nothing is played yet, so it may be shown again if a connection was stale."""
        for last in (False, True):
            link.connection = self._pool.take()
            try:
                link.connection.begin(episode)
                return link.connection.ask(looks, episode.task.instruction)
            except ConnectionFault:
                if last:
                    raise
                self._pool.drop(link)
        raise AssertionError("the last attempt returns or raises")

    def _dial(self) -> Connection:
        connection = dial(self._address, self._protocol)
        if isinstance(connection, YardarmConnection):
            serves = str(connection.declared[YARDARM].get("id"))
            if self._served not in (None, serves):
                raise PolicyFault(
                    f"the server at {self._address.url} has become another: it serves '{serves}' now, "
                    f"and served '{self._served}'"
                )
            self._served = serves
        return connection


def _check_numbers(**flags: tuple[Any, float]) -> None:
    for name, (value, least) in flags.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
            raise UsageError(f"--policy.{name} must be a number of at least {least:g}, got {value}")


def _plain(value: Any) -> Any:
    """What a server declares, as JSON."""
    return json.loads(json.dumps(value, default=lambda item: item.tolist() if hasattr(item, "tolist") else str(item)))
