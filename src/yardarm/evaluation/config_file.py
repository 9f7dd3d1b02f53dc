"""A configuration as plain data: what ``config.yaml`` holds, and what flags are gathered into."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import draccus
import yaml

from yardarm.errors import UsageError, nearest
from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.policies import PolicySpec
from yardarm.tasks import BENCHMARKS, BenchmarkConfig

__all__ = ["config_from_data", "config_to_data", "read_config_file"]

SECTIONS = ("env", "policy", "eval")


def read_config_file(path: Path) -> dict[str, Any]:
    """Read YAML or JSON."""
    try:
        data = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"--config_path: there is no file {path}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"--config_path: {path} cannot be read: {reason}") from error
    if not isinstance(data, dict):
        raise UsageError(f"--config_path: {path} must hold a mapping, like the config.yaml of a run")
    return data


def config_from_data(data: Mapping[str, Any]) -> EvalConfig:
    """Check names and types, and build the configuration."""
    own = {field.name for field in dataclasses.fields(EvalConfig)}
    _check_names("", data, own)
    for name in SECTIONS:
        if not isinstance(data.get(name, {}), Mapping):
            raise UsageError(f"'{name}' must be a section of its own: --{name}.…=…")
    options = _decode(EvalOptions, "eval", data.get("eval", {}))
    env = _env(data.get("env", {}))
    policy = _policy(data.get("policy", {}))
    plain = {name: value for name, value in data.items() if name not in SECTIONS}
    # The sections are decoded already; the rest is decoded with a class that has nothing but the rest.
    rest = _decode(_without_sections(), "", plain)
    values = {field.name: getattr(rest, field.name) for field in dataclasses.fields(rest)}
    return EvalConfig(env=env, policy=policy, eval=options, **values)


def config_to_data(config: EvalConfig) -> dict[str, Any]:
    """The configuration as plain data, all defaults written out."""
    assert isinstance(config.policy, PolicySpec)
    data = {name: getattr(config, name) for name in ("seed", "job_name", "resume")}
    data["output_dir"] = str(config.output_dir) if config.output_dir else None
    data["policy"] = {"type": config.policy.type, **config.policy.options}
    data["env"] = {"type": type(config.env).name, **dataclasses.asdict(config.env)}
    data["eval"] = dataclasses.asdict(config.eval)
    return data


def _env(data: Mapping[str, Any]) -> BenchmarkConfig:
    if not data.get("type"):
        raise UsageError(f"--env.type is missing; installed: {', '.join(BENCHMARKS.names())}")
    benchmark = BENCHMARKS.load(str(data["type"]))
    return _decode(benchmark, "env", {name: value for name, value in data.items() if name != "type"})


def _policy(data: Mapping[str, Any]) -> PolicySpec:
    if "path" in data:
        raise UsageError(
            f"--policy.path={data['path']}: this version cannot load checkpoints yet; "
            "use --policy.type=package.module:Name for a policy of your own"
        )
    if not data.get("type"):
        raise UsageError("--policy.type is missing; e.g. --policy.type=expert, or package.module:Name")
    return PolicySpec(str(data["type"]), {name: value for name, value in data.items() if name != "type"})


def _decode(kind: type, section: str, data: Mapping[str, Any]) -> Any:
    _check_names(section, data, {field.name for field in dataclasses.fields(kind)})
    try:
        return draccus.decode(kind, dict(data))
    except draccus.utils.DecodingError as error:
        name, _, reason = str(error).replace("`", "").partition(": ")
        flag = ".".join(part for part in (section, name) if part)
        raise UsageError(f"--{flag}: {reason.splitlines()[0]}") from error


def _check_names(section: str, data: Mapping[str, Any], known: Iterable[str]) -> None:
    for name in data:
        if name not in known:
            prefix = f"{section}." if section else ""
            raise UsageError(f"unknown option '--{prefix}{name}'{nearest(name, known)} `yardarm eval --help` lists all")


def _without_sections() -> type:
    rest = [field for field in dataclasses.fields(EvalConfig) if field.name not in SECTIONS]
    hints = {"seed": int, "output_dir": Path | None, "job_name": str | None, "resume": bool}
    return dataclasses.make_dataclass(
        "Rest", [(field.name, hints[field.name], dataclasses.field(default=field.default)) for field in rest]
    )
