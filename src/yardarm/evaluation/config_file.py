"""A configuration as plain data: what ``config.yaml`` holds, and what flags are gathered into."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import draccus
import yaml

from yardarm.cluster import RayOptions
from yardarm.errors import UsageError, nearest
from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.evaluation.consent import admit
from yardarm.evaluation.flag_text import FlagText, plain_value
from yardarm.evaluation.policy_data import against_from_data, policies_from_data, policy_to_data
from yardarm.files import write_atomically
from yardarm.policies import PolicySpec
from yardarm.tasks import BENCHMARKS, BenchmarkConfig, NamedCode
from yardarm.tracking import WandbOptions

__all__ = [
    "config_from_data",
    "config_to_data",
    "decode",
    "env_from_data",
    "envs_from_data",
    "read_config_file",
    "write_config_file",
]

SECTIONS = ("env", "policy", "eval", "wandb", "ray")
AGAINST = "against"
EVAL = "eval"
# Of these a configuration file may have a list.
LISTED = ("env", "policy")


def read_config_file(path: Path) -> dict[str, Any]:
    """Read YAML or JSON."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no configuration file {path}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"the configuration file {path} cannot be read: {reason}") from error
    if not isinstance(data, dict):
        raise UsageError(f"the configuration file {path} must hold a mapping, like the config.yaml of a run")
    if "trust_remote_code" in data:
        raise UsageError(f"{path}: trust_remote_code is for the command line: a file cannot consent for you")
    return data


def write_config_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write YAML that `read_config_file` reads, in the order given."""
    text = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True)
    write_atomically(path, lambda file: file.write(text.encode()))


def config_from_data(data: Mapping[str, Any]) -> EvalConfig:
    """Check names and types, and build the configuration."""
    _check_names("", data, {field.name for field in dataclasses.fields(EvalConfig)})
    for name in SECTIONS:
        if not isinstance(data.get(name, {}), Mapping) and not (name in LISTED and isinstance(data[name], list)):
            raise UsageError(f"'{name}' must be a section of its own: --{name}.…=…")
    plain = _decode_plain({name: value for name, value in data.items() if name not in (*SECTIONS, AGAINST)})
    options = decode(EvalOptions, "eval", data.get("eval", {}))
    trusted = bool(plain.get("trust_remote_code"))
    return EvalConfig(
        env=envs_from_data(data.get("env", {}), trusted),
        policy=policies_from_data(data.get("policy", {}), trusted),
        eval=options,
        wandb=decode(WandbOptions, "wandb", data.get("wandb", {})),
        ray=_ray_from_data(data.get("ray", {}), trusted),
        against=against_from_data(data.get(AGAINST), trusted),
        **plain,
    )


def config_to_data(config: EvalConfig) -> dict[str, Any]:
    """The configuration as plain data, all defaults written out."""
    policies = [policy_to_data(policy) for policy in config.policies if isinstance(policy, PolicySpec)]
    assert len(policies) == len(config.policies), "an object is named before it is written down"
    # Consent to run code from elsewhere is not written down: no file can give it in the user's place. Nor is that to
    # mix versions: it is for those that were there when it was given.
    plain = ("seed", "job_name", "method", "training_seed", "rename_map", "resume", "shard", "runner")
    data = {name: getattr(config, name) for name in plain}
    data["output_dir"] = str(config.output_dir) if config.output_dir else None
    data["policy"] = policies if config.several else policies[0]
    if isinstance(config.against, PolicySpec):
        data[AGAINST] = policy_to_data(config.against)
    elif config.against is not None:
        data[AGAINST] = str(config.against)
    envs = [{"type": env.name, **dataclasses.asdict(env)} for env in config.envs]
    data["env"] = envs[0] if len(envs) == 1 else envs
    data["eval"] = dataclasses.asdict(config.eval)
    data["wandb"] = dataclasses.asdict(config.wandb)
    data["ray"] = dataclasses.asdict(config.ray)
    return data


def envs_from_data(
    data: Mapping[str, Any] | list[Any], trusted: bool = False
) -> BenchmarkConfig | list[BenchmarkConfig]:
    """One benchmark, or a list of them, which only a file can hold."""
    if isinstance(data, Mapping):
        return env_from_data(data, trusted=trusted)
    return [env_from_data(item, trusted=trusted) for item in data]


def env_from_data(data: Any, command: str = EVAL, trusted: bool = False) -> BenchmarkConfig:
    """A benchmark's configuration from what stands below ``env``."""
    if not isinstance(data, Mapping):
        raise UsageError(f"env: each benchmark of the list must be a section with its type, not '{data}'")
    if not data.get("type"):
        raise UsageError(f"--env.type is missing; one of {', '.join(BENCHMARKS.names())}")
    benchmark = BENCHMARKS.load(str(data["type"]))
    options = {name: value for name, value in data.items() if name != "type"}
    config: BenchmarkConfig = decode(benchmark, "env", options, command)
    admit("env", config.named_code(), data, trusted)
    return config


def _ray_from_data(data: Mapping[str, Any], trusted: bool) -> RayOptions:
    options: RayOptions = decode(RayOptions, "ray", data)
    if options.address:
        admit("ray", [NamedCode("address", f"what the Ray cluster at {options.address} sends")], data, trusted)
    return options


def decode(kind: type, section: str, data: Mapping[str, Any], command: str = EVAL) -> Any:
    """A configuration class from what stands below its section; `command` is whose help lists the flags."""
    hints = typing.get_type_hints(kind)
    _check_names(section, data, {field.name for field in dataclasses.fields(kind)}, command)
    try:
        return draccus.decode(kind, {name: _fitting(hints[name], value) for name, value in data.items()})
    except draccus.utils.DecodingError as error:
        raise _misfit(section, error, hints) from error


def _decode_plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Decode what stands outside the sections."""
    hints = typing.get_type_hints(EvalConfig)
    return {name: _decode_one(name, hints[name], value) for name, value in data.items()}


def _decode_one(name: str, hint: Any, value: Any) -> Any:
    try:
        return draccus.decode(hint, _fitting(hint, value))
    except draccus.utils.DecodingError as error:
        if name == "rename_map":
            raise UsageError(
                f"--rename_map={value} must map the environment's names to the policy's: "
                """'{"observation.image": "observation.images.top"}'"""
            ) from error
        raise UsageError(f"--{name}={value} does not fit: {' '.join(str(error).split())}") from error


def _fitting(hint: Any, value: Any) -> Any:
    """Leave a flag's text as it is where text is wanted, "null" aside; read it as data elsewhere."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if is_union else (hint,)
    if isinstance(value, FlagText) and (str in kinds or Path in kinds):
        return None if value == "null" and type(None) in kinds else str(value)
    return plain_value(value)


def _misfit(section: str, error: Exception, hints: Mapping[str, Any]) -> UsageError:
    name, _, reason = str(error).replace("`", "").partition(": ")
    flag = ".".join(part for part in (section, name) if part)
    first = reason.splitlines()[0]
    if first.endswith(":") and name in hints:  # it goes on with one line for each type that it could have been
        kinds = [kind for kind in typing.get_args(hints[name]) if kind is not type(None)]
        named = " or ".join(str(kind) if typing.get_args(kind) else kind.__name__ for kind in kinds)
        return UsageError(f"--{flag}: this is no {named}")
    return UsageError(f"--{flag}: {first}")


def _check_names(section: str, data: Mapping[str, Any], known: Iterable[str], command: str = EVAL) -> None:
    for name in map(str, data):
        if name not in known:
            prefix = f"{section}." if section else ""
            raise UsageError(
                f"unknown option '--{prefix}{name}'{nearest(name, known)} `yardarm {command} --help` lists all"
            )
