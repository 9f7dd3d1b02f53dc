"""A configuration as plain data: from flags, and in ``config.yaml``."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from yardarm.cluster import RayOptions
from yardarm.config import NamedCode, admit, check_names, decode, decode_value
from yardarm.errors import UsageError
from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.policies import PolicySpec, against_from_data, policies_from_data, policy_to_data
from yardarm.tasks import envs_from_data
from yardarm.tracking import WandbOptions

__all__ = ["config_from_data", "config_to_data"]

SECTIONS = ("env", "policy", "eval", "wandb", "ray")
AGAINST = "against"
# A configuration file may have a list of these.
LISTED = ("env", "policy")


def config_from_data(data: Mapping[str, Any]) -> EvalConfig:
    """Check names and types, and build the configuration."""
    check_names("", data, {field.name for field in dataclasses.fields(EvalConfig)})
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
    # Consent to run code from elsewhere is not saved: no file can give it for the user. Nor is consent to mix versions:
    # it covers only the versions that were there when it was given.
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


def _ray_from_data(data: Mapping[str, Any], trusted: bool) -> RayOptions:
    options: RayOptions = decode(RayOptions, "ray", data)
    if options.address:
        admit("ray", [NamedCode("address", f"what the Ray cluster at {options.address} sends")], data, trusted)
    return options


def _decode_plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Decode what belongs to no section."""
    hints = typing.get_type_hints(EvalConfig)
    return {name: _decode_one(name, hints[name], value) for name, value in data.items()}


def _decode_one(name: str, hint: Any, value: Any) -> Any:
    try:
        return decode_value(name, hint, value)
    except UsageError as error:
        if name != "rename_map":
            raise
        raise UsageError(
            f"--rename_map={value} must map the environment's names to the policy's: "
            """'{"observation.image": "observation.images.top"}'"""
        ) from error
