"""Calls of a bus that its log notes, with what came of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from yardarm.robots.motors.register_bus import RegisterBus

__all__ = ["CallLog", "noted"]

P = ParamSpec("P")
R = TypeVar("R")
Own = TypeVar("Own", bound="RegisterBus")


class CallLog(Protocol):
    """Keeps what happens on a bus."""

    def begin(self, bus: RegisterBus) -> None:
        """The bus is about to open its port."""

    def end(self) -> None:
        """The bus has closed its port."""

    def run(self, bus: RegisterBus, call: Callable[..., R], args: tuple[Any, ...], options: dict[str, Any]) -> R:
        """Make a call, and note it."""


def noted(method: Callable[Concatenate[Own, P], R]) -> Callable[Concatenate[Own, P], R]:
    """Have a call noted, if the bus has a log."""

    @functools.wraps(method)
    def call(bus: Own, *args: P.args, **options: P.kwargs) -> R:
        if bus.log is None:
            return method(bus, *args, **options)
        return bus.log.run(bus, method, args, options)

    return call
