"""Policies as plain data: what flags and configuration files say of one, or of several."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from yardarm.config import NamedCode, admit, plain_value, require_value
from yardarm.errors import UsageError, nearest
from yardarm.hub import existing
from yardarm.policies.loading import ARCHITECTURES, POLICIES, PolicySpec
from yardarm.policies.naming import named_policy
from yardarm.secrecy import without_secrets

__all__ = ["against_from_data", "code_in_policy", "policies_from_data", "policy_from_data", "policy_to_data"]

HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
LEROBOT = "lerobot"
CONFIG = "config.json"
# A folder is one checkpoint if it has one of these: the policy alone, or beside the state of its training.
SIGNS = (CONFIG, f"pretrained_model/{CONFIG}")
# Where checkpoints lie in a folder of checkpoints, as training makes them, or of trainings.
INSIDE = (".", "pretrained_model", "checkpoints/last/pretrained_model")


# Options of a checkpoint that are text, whatever they look like.
TEXTS = ("path", "revision", "device", "dtype", "python", "hub_dir")


def policies_from_data(data: Any, trusted: bool = False) -> PolicySpec | list[PolicySpec]:
    """What stands below ``policy``: one, or several by a list, by paths with commas, or by a folder of checkpoints."""
    if isinstance(data, list):
        if not data:
            raise UsageError("policy is an empty list: name at least one")
        return [
            policy_from_data(item, trusted) if isinstance(item, Mapping) else _from_text(str(item), trusted)
            for item in data
        ]
    paths = _paths(str(data["path"])) if data.get("path") is not None else None
    if paths is None:
        return policy_from_data(data, trusted)
    return [policy_from_data({**data, "path": path}, trusted) for path in paths]


def _paths(text: str) -> list[str] | None:
    """The checkpoints that a path means, if it means several: ``a,b,c``, or a folder that holds some."""
    if not text.strip():
        return None  # an unset variable of a shell, say, and not the folder that we are in
    parts = [text] if existing(text) is not None else [part.strip() for part in text.split(",") if part.strip()]
    found = [_checkpoints_in(folder) if (folder := existing(part)) is not None else [] for part in parts]
    if len(parts) < 2 and not any(found):
        return None
    return [path for part, inside in zip(parts, found, strict=True) for path in inside or [part]]


def _checkpoints_in(folder: Path) -> list[str]:
    """The checkpoints in a folder that is none itself, by name; ``last``, a link to one of them, is not another."""
    if not folder.is_dir() or any((folder / sign).exists() for sign in SIGNS):
        return []
    folders = sorted(child for child in folder.iterdir() if child.is_dir())
    own = {child.resolve() for child in folders if not child.is_symlink()}
    children = [child for child in folders if not child.is_symlink() or child.resolve() not in own]
    places = [[child / inner for inner in INSIDE if (child / inner / CONFIG).is_file()] for child in children]
    return [str(own[0]) for own in places if own]


def policy_from_data(data: Mapping[str, Any], trusted: bool = False) -> PolicySpec:
    """A policy from what stands below ``policy``."""
    admit("policy", code_in_policy(data), data, trusted)
    for name in (*TEXTS, "type", "url", "api_key"):
        require_value(f"policy.{name}", data.get(name))
    options = {str(name): plain_value(value) for name, value in data.items() if name != "type"}
    options |= {name: str(data[name]) for name in ("url", "api_key") if name in data}  # 00123 is no number there
    kind = str(data.get("type") or ("remote" if "url" in data else ""))
    if data.get("path") is not None and "url" in data:
        raise UsageError("--policy.path is for a checkpoint, --policy.url for a policy behind a socket: give one")
    if data.get("path") is not None:
        texts = {name: str(data[name]) for name in TEXTS if name in data}
        return _checkpoint(kind, {**options, **texts})
    if kind in ARCHITECTURES.names():
        raise UsageError(f"--policy.type={kind} needs trained weights: give --policy.path=FOLDER_OR_HUB_ID instead")
    if not kind or kind == "pretrained":
        raise UsageError(
            "--policy.path=CHECKPOINT or --policy.type is missing; e.g. --policy.type=expert, or package.module:Name"
        )
    return PolicySpec(kind, options)


def code_in_policy(data: Mapping[str, Any]) -> Iterator[NamedCode]:
    """The code that stands below ``policy``: a class or an architecture by its module, and an interpreter."""
    module, colon, _ = str(data.get("type") or "").partition(":")
    if colon:
        yield NamedCode("type", f"the policy '{data['type']}'", module)
    if data.get("python"):
        yield NamedCode("python", f"the interpreter {data['python']}")


def against_from_data(data: Any, trusted: bool = False) -> Path | PolicySpec | None:
    """What to compare with: a run's folder, LeRobot's ``eval_info.json``, or a policy by path, address or name."""
    if data is None or isinstance(data, Mapping):
        return None if data is None else policy_from_data(data, trusted)
    text = data if isinstance(data, str) else str(data)  # a flag's text stays one: what is typed may name code
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
    policy = _named(text, trusted)
    if policy is None:
        raise UsageError(
            f"--against={text} is neither a run's folder, nor a checkpoint, nor the name of a policy"
            f"{nearest(text, POLICIES.names())} to say more of a policy: --against.path=…, --against.type=…"
        )
    return policy


def _from_text(text: str, trusted: bool) -> PolicySpec:
    """A policy of a list that is given by a name, an address or a path alone."""
    policy = _named(text, trusted)
    if policy is None:
        raise UsageError(
            f"policy: '{text}' of the list is neither a checkpoint nor the name of a policy"
            f"{nearest(text, POLICIES.names())} to say more of one: {{path: …, device: …}}"
        )
    return policy


def _named(text: str, trusted: bool) -> PolicySpec | None:
    """What a user calls a policy in one word, if there is something of that name."""
    said = named_policy(text)
    folder = existing(text)
    if "path" in said and not ((folder is not None and folder.is_dir()) or HUB_ID.fullmatch(text)):
        return None
    if "type" in said and text not in POLICIES.names() and ":" not in text:
        return None
    return policy_from_data({name: type(text)(value) for name, value in said.items()}, trusted)


def _checkpoint(kind: str, options: dict[str, Any]) -> PolicySpec:
    """A checkpoint names its type itself. LeRobot's users may say it, too; a module of the user's own must be said."""
    if options["path"] and (folder := existing(options["path"])) is not None and folder.is_dir():
        options["path"] = str(folder.absolute())  # so that a run's config.yaml works from anywhere
    if options.get("hub_dir"):
        options["hub_dir"] = os.path.abspath(os.path.expanduser(options["hub_dir"]))
    if options.get("python"):
        return _of_lerobot(kind, options)
    if kind in ARCHITECTURES.names() or ":" in kind:
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


def policy_to_data(policy: PolicySpec) -> dict[str, Any]:
    """What `policy_from_data` makes the same policy of, but for secrets, which must be given again."""
    return {"type": policy.type, **without_secrets(policy.options)}
