"""LeRobot's ``train_config.json``, which has every option of a training, as Yardarm's own file would say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.cli.lerobot.spellings import ABSENT, find_answer
from yardarm.errors import UsageError

__all__ = ["is_lerobots", "own_options"]

# What every file of LeRobot's has, and none of ours.
MARK = "checkpoint_path"
# What follows from the dataset, the world or the machine, or does nothing by itself.
LEFT_OUT = {
    *(MARK, "resume", "job", "persistent_workers", "dataloader_multiprocessing_context"),
    *("dataset.video_backend", "dataset.repo_type", "dataset.return_uint8", "dataset.depth_output_unit"),
    *("env.features", "env.features_map", "policy.input_features", "policy.output_features", "policy.use_peft"),
    *("rabc_epsilon", "rabc_head_mode", "rabc_kappa", "rabc_progress_path"),
}
EMPTY: tuple[Any, ...] = (None, False, {}, [])


def is_lerobots(data: Mapping[str, Any]) -> bool:
    """Whether LeRobot has written this training's configuration."""
    return MARK in data


def own_options(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same training in Yardarm's words; raise for what it cannot do."""
    sections = {name: _section(name, value) for name, value in data.items() if _is_taken(name, value)}
    own = {name: value for name, value in sections.items() if value not in (None, {})}
    if "policy" in own:
        own["policy"] = _policy(own["policy"])
    if own.get("use_policy_training_preset", True):  # both follow from the policy, and would hide its options
        own = {name: value for name, value in own.items() if name not in ("optimizer", "scheduler")}
    if "env" not in own:  # LeRobot has a frequency even if there is nowhere to evaluate
        own = {name: value for name, value in own.items() if name not in ("eval_freq", "env_eval_freq")}
    return own


def _section(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping) or name == "rename_map":
        return value
    return {key: inner for key, inner in value.items() if _is_taken(f"{name}.{key}", inner)}


def _policy(options: Any) -> dict[str, Any]:
    """A new policy, or the path of one to fine-tune, whose checkpoint says its type."""
    if not isinstance(options, Mapping) or not isinstance(options.get("type"), str):
        raise UsageError(f"LeRobot's file has a policy without a 'type': {str(options)[:60]}")
    own = dict(options)
    path, revision = own.pop("pretrained_path", None), own.pop("pretrained_revision", None)
    if path is None:
        return own
    del own["type"]
    return {**own, "path": path, **({"revision": revision} if revision else {})}


def _is_taken(name: str, value: Any) -> bool:
    if name in LEFT_OUT:
        return False
    absent = find_answer(name, ABSENT["train"])
    if absent is not None and value not in EMPTY and str(value).lower() not in absent.natural:
        raise UsageError(f"LeRobot's file has {name}={value}: {absent.answer}")
    return absent is None
