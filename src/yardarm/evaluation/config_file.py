"""A configuration as plain data: what ``config.yaml`` holds, and what flags are gathered into."""

from __future__ import annotations

import dataclasses
import re
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
from yardarm.policies import CHECKPOINT_TYPES, POLICIES, PolicySpec
from yardarm.tasks import BENCHMARKS, BenchmarkConfig
from yardarm.tracking import WandbOptions

__all__ = [
    "FlagText",
    "against_from_data",
    "config_from_data",
    "config_to_data",
    "decode",
    "env_from_data",
    "plain_value",
    "policy_from_data",
    "read_config_file",
]

SECTIONS = ("env", "policy", "eval", "wandb", "ray")
AGAINST = "against"
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
EVAL = "eval"
LEROBOT = "lerobot"
# Not written down: a run's folder is shown to others.
SECRETS = ("api_key",)


class FlagText(str):
    """The text of a flag: it is data in YAML's notation, unless what it is for wants text."""

    __slots__ = ()

    def value(self) -> Any:
        """A number, a boolean, null, a list or a mapping; anything else stays text."""
        try:
            value = yaml.safe_load(self)
        except yaml.YAMLError:
            return str(self)
        return value if isinstance(value, bool | int | float | list | dict | None) else str(self)


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


def config_from_data(data: Mapping[str, Any]) -> EvalConfig:
    """Check names and types, and build the configuration."""
    _check_names("", data, {field.name for field in dataclasses.fields(EvalConfig)})
    for name in SECTIONS:
        if not isinstance(data.get(name, {}), Mapping) and not (name == "env" and isinstance(data[name], list)):
            raise UsageError(f"'{name}' must be a section of its own: --{name}.…=…")
    plain = _decode_plain({name: value for name, value in data.items() if name not in (*SECTIONS, AGAINST)})
    options = decode(EvalOptions, "eval", data.get("eval", {}))
    return EvalConfig(
        env=_envs(data.get("env", {})),
        policy=policy_from_data(data.get("policy", {})),
        eval=options,
        wandb=decode(WandbOptions, "wandb", data.get("wandb", {})),
        ray=decode(RayOptions, "ray", data.get("ray", {})),
        against=against_from_data(data.get(AGAINST)),
        **plain,
    )


def config_to_data(config: EvalConfig) -> dict[str, Any]:
    """The configuration as plain data, all defaults written out."""
    assert isinstance(config.policy, PolicySpec)
    # Consent to run code from elsewhere is not written down: no file can give it in the user's place.
    plain = ("seed", "job_name", "method", "training_seed", "rename_map", "resume", "runner")
    data = {name: getattr(config, name) for name in plain}
    data["output_dir"] = str(config.output_dir) if config.output_dir else None
    data["policy"] = _policy_to_data(config.policy)
    if isinstance(config.against, PolicySpec):
        data[AGAINST] = _policy_to_data(config.against)
    elif config.against is not None:
        data[AGAINST] = str(config.against)
    envs = [{"type": env.name, **dataclasses.asdict(env)} for env in config.envs]
    data["env"] = envs[0] if len(envs) == 1 else envs
    data["eval"] = dataclasses.asdict(config.eval)
    data["wandb"] = dataclasses.asdict(config.wandb)
    data["ray"] = dataclasses.asdict(config.ray)
    return data


def _policy_to_data(policy: PolicySpec) -> dict[str, Any]:
    return {"type": policy.type, **{name: value for name, value in policy.options.items() if name not in SECRETS}}


def _envs(data: Mapping[str, Any] | list[Any]) -> BenchmarkConfig | list[BenchmarkConfig]:
    """One benchmark, or a list of them, which only a file can hold."""
    return env_from_data(data) if isinstance(data, Mapping) else [env_from_data(item) for item in data]


def env_from_data(data: Any, command: str = EVAL) -> BenchmarkConfig:
    """A benchmark's configuration from what stands below ``env``."""
    if not isinstance(data, Mapping):
        raise UsageError(f"env: each benchmark of the list must be a section with its type, not '{data}'")
    if not data.get("type"):
        raise UsageError(f"--env.type is missing; one of {', '.join(BENCHMARKS.names())}")
    benchmark = BENCHMARKS.load(str(data["type"]))
    return decode(benchmark, "env", {name: value for name, value in data.items() if name != "type"}, command)


def policy_from_data(data: Mapping[str, Any]) -> PolicySpec:
    """A policy from what stands below ``policy``."""
    options = {str(name): plain_value(value) for name, value in data.items() if name != "type"}
    options |= {name: str(data[name]) for name in ("url", *SECRETS) if name in data}  # 00123 is no number there
    kind = str(data.get("type") or ("remote" if "url" in data else ""))
    if data.get("path") is not None and "url" in data:
        raise UsageError("--policy.path is for a checkpoint, --policy.url for a policy behind a socket: give one")
    if data.get("path") is not None:
        texts = {name: str(data[name]) for name in ("path", "revision", "device", "dtype", "python") if name in data}
        return _checkpoint(kind, {**options, **texts})
    if kind in CHECKPOINT_TYPES:
        raise UsageError(f"--policy.type={kind} needs trained weights: give --policy.path=FOLDER_OR_HUB_ID instead")
    if not kind or kind == "pretrained":
        raise UsageError(
            "--policy.path=CHECKPOINT or --policy.type is missing; e.g. --policy.type=expert, or package.module:Name"
        )
    return PolicySpec(kind, options)


def against_from_data(data: Any) -> Path | PolicySpec | None:
    """What to compare with: a run's folder, LeRobot's ``eval_info.json``, or a policy by path, address or name."""
    if data is None or isinstance(data, Mapping):
        return None if data is None else policy_from_data(data)
    text = str(data)
    if text == "null":
        return None
    if not text:
        raise UsageError("--against is empty: give a run's folder, a checkpoint, or the name of a policy")
    path = Path(text).expanduser()
    if path.exists() and text in POLICIES.names():
        raise UsageError(
            f"--against={text} is a policy's name, and a folder is called so, too: say --against.type={text}, or "
            f"--against=./{text}"
        )
    if path.is_file() or any((path / name).is_file() for name in ("manifest.json", "eval_info.json")):
        return path.absolute()
    if text in POLICIES.names() or (":" in text and "/" not in text):
        return policy_from_data({"type": text})
    if "://" in text:
        return policy_from_data({"url": text})
    if path.is_dir() or HUB_ID.fullmatch(text):
        return policy_from_data({"path": text})
    raise UsageError(
        f"--against={text} is neither a run's folder, nor a checkpoint, nor the name of a policy"
        f"{nearest(text, POLICIES.names())} to say more of a policy: --against.path=…, --against.type=…"
    )


def _checkpoint(kind: str, options: dict[str, Any]) -> PolicySpec:
    """A checkpoint says itself what it is of; LeRobot's users may say it, too."""
    if (folder := Path(options["path"]).expanduser()).is_dir() and options["path"]:
        options["path"] = str(folder.absolute())  # so that a run's config.yaml works from anywhere
    if options.get("python"):
        return _of_lerobot(kind, options)
    if kind in CHECKPOINT_TYPES:
        options["type"] = kind
    elif kind not in ("", "pretrained"):
        raise UsageError(f"--policy.type={kind} and --policy.path={options['path']} exclude each other: give one")
    return PolicySpec("pretrained", options)


def _of_lerobot(kind: str, options: dict[str, Any]) -> PolicySpec:
    """A checkpoint that another Python runs, by LeRobot's own classes."""
    python = Path(str(options["python"])).expanduser()
    # A relative path must keep its meaning in a run's config.yaml; a name alone is looked for on the PATH.
    options["python"] = str(python.absolute()) if python.exists() else str(python)
    if kind not in ("", "pretrained", LEROBOT):
        options["type"] = kind
    return PolicySpec(LEROBOT, options)


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


def plain_value(value: Any) -> Any:
    """What a flag's text says; anything else as it is."""
    return value.value() if isinstance(value, FlagText) else value


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
