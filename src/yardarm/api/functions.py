"""What the functions of the API share: options as keywords, and mistakes answered in one line, in Python's words."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from yardarm.errors import UsageError, nearest

__all__ = ["api_function", "as_arguments", "options_of"]

Function = TypeVar("Function", bound=Callable[..., Any])

# What a command calls --eval.n_episodes=5 or --env.task=…, a function calls n_episodes or task. Commands in backticks
# stay as they are.
FLAG = re.compile(r"`[^`]*`|--(?:(?:dataset|env|eval)\.)?([a-z]\w*)(?:=(true|false)\b)?")

# Where a command names the benchmark, a function is given tasks.
RENAMED = {"--env.type": "tasks"}


def api_function(*options: type) -> Callable[[Function], Function]:
    """A function whose `**options` are the fields of these classes: help lists them with their defaults.

    A `UsageError` comes without the frames below the call, since its message says everything.
    """

    def decorated(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except UsageError as error:
                error.args = (as_arguments(str(error)), *error.args[1:])
                raise error.with_traceback(None) from None

        if options:
            own = inspect.signature(function)
            call.__signature__ = own.replace(parameters=list(_parameters(own, options)))  # type: ignore[attr-defined]
            call.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions:\n\n{_listed(own, options)}\n"
        return call  # type: ignore[return-value]

    return decorated


def options_of(function: str, given: Mapping[str, Any], *kinds: Any) -> Iterator[Any]:
    """An object of each class, made of the keywords that it has a field for; other keywords are refused."""
    names = {kind: {field.name for field in dataclasses.fields(kind)} for kind in kinds}
    known = sorted(set().union(*names.values()))
    for name in given:
        if name not in known:
            raise UsageError(f"{function} has no option '{name}'{nearest(name, known)} it has {', '.join(known)}")
    for kind in kinds:
        yield kind(**{name: value for name, value in given.items() if name in names[kind]})


def as_arguments(text: str) -> str:
    """A message about flags as one about arguments: ``--eval.stop`` is ``stop``, ``true`` is ``True``."""

    def renamed(match: re.Match[str]) -> str:
        name, value = RENAMED.get(match[0]) or match[1], match[2]
        return match[0] if name is None else f"{name}={value.capitalize()}" if value else name

    return FLAG.sub(renamed, text)


def _parameters(signature: inspect.Signature, kinds: Sequence[type]) -> Iterator[inspect.Parameter]:
    """A function's own parameters, and an optional one for each option."""
    yield from [own for own in signature.parameters.values() if own.kind is not inspect.Parameter.VAR_KEYWORD]
    for field in _fields(signature, kinds):
        default = field.default if field.default is not dataclasses.MISSING else None
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)


def _listed(signature: inspect.Signature, kinds: Sequence[type]) -> str:
    lines = []
    for field in _fields(signature, kinds):
        default = "" if field.default in (None, "", dataclasses.MISSING) else f" [{field.default}]"
        lines.append(f"- `{field.name}`: {as_arguments(field.metadata['help'])}{default}")
    return "\n".join(lines)


def _fields(signature: inspect.Signature, kinds: Sequence[Any]) -> Iterator[dataclasses.Field[Any]]:
    for field in (field for kind in kinds for field in dataclasses.fields(kind)):
        if field.name not in signature.parameters and "help" in field.metadata:
            yield field
