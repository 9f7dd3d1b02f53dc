"""Gathers dotted flags and configuration files into sections: for the commands whose flags are like LeRobot's.

``--policy=act --policy.chunk_size=50`` becomes ``{"policy": {"type": "act", "chunk_size": "50"}}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.cli.flags import Flags, read_flags, text
from yardarm.cli.lerobot.spellings import own_spellings
from yardarm.config import FlagText, read_config_file, require_value
from yardarm.errors import UsageError
from yardarm.policies import named_policy
from yardarm.tasks import BENCHMARKS, BenchmarkConfig, named_env

__all__ = ["gather", "nested", "read_only_flags", "shown_benchmark", "typed"]

AGAINST = "against"
# Sections that one word can name: `--policy=act` is short for `--policy.type=act`.
NAMED: Mapping[str, Callable[[str], Mapping[str, str]]] = {
    "policy": named_policy,
    "env": named_env,
    AGAINST: named_policy,
    "robot": lambda word: {"type": word},
    "teleop": lambda word: {"type": word},
}


def read_only_flags(words: Sequence[str], command: str, help_text: Callable[[Flags], str]) -> Flags | None:
    """The flags of a command that takes nothing else; prints the help and returns None if that was asked for."""
    plain, flags = read_flags(words)
    if "help" in flags:
        print(help_text(flags))
        return None
    if plain:
        raise UsageError(f"yardarm {command} takes flags only, not '{plain[0]}'")
    return own_spellings(command, flags)


def shown_benchmark(flags: Flags) -> type[BenchmarkConfig]:
    """The benchmark whose flags ``--help`` lists."""
    benchmark: type[BenchmarkConfig] = BENCHMARKS.load(flags.get("env.type") or flags.get("env") or "metaworld")
    return benchmark


def gather(flags: Flags, read: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> dict[str, Any]:
    """The configuration file of ``--config_path``, as `read` understands it, overridden by flags."""
    own = dict(flags)
    path = text(own, "config_path")
    own.pop("config_path", None)
    return nested(own, read(read_config_file(Path(path))) if path else {})


def nested(flags: Mapping[str, str], base: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration file's content, overridden by flags."""
    data: dict[str, Any] = {name: dict(value) if isinstance(value, Mapping) else value for name, value in base.items()}
    rest = dict(flags)
    for section in NAMED:
        # `--against=…` alone may also be a run.
        alone = section == AGAINST and not any(flag.startswith(f"{section}.") for flag in flags)
        if section in flags and not alone:
            data[section] = _named(section, rest.pop(section), flags, data.get(section))
    for name, value in rest.items():
        section, dot, key = name.partition(".")
        if not dot:
            data[section] = typed(value)
            continue
        inner = data.setdefault(section, {})
        if isinstance(inner, list):
            raise UsageError(f"--{name}: the configuration file has a list under '{section}'; edit it there")
        if not isinstance(inner, dict):
            raise UsageError(
                f"--{name}: '{section}' already has the value '{inner}'; give all options as --{section}.…"
            )
        inner[key] = typed(value)
    return data


def _named(section: str, word: str, flags: Mapping[str, str], before: Any) -> dict[str, Any]:
    """What a word says of a section; a file's options remain if the word names what the file names."""
    require_value(section, word)
    said = {key: FlagText(value) for key, value in NAMED[section](word).items()}
    for key, value in said.items():
        if (flag := f"{section}.{key}") in flags:
            raise UsageError(
                f"--{section}={word} means --{flag}={value}, but --{flag}={flags[flag]} is given too; omit one"
            )
    is_same = isinstance(before, dict) and all(str(before.get(key)) == value for key, value in said.items())
    return {**before, **said} if is_same else dict(said)


def typed(value: str) -> FlagText:
    """A flag's text as what the user typed."""
    return value if isinstance(value, FlagText) else FlagText(value)
