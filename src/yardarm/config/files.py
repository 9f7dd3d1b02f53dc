"""Reads and writes configuration files in YAML or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.files import write_atomically

__all__ = ["read_config_file", "write_config_file"]


def read_config_file(path: Path) -> dict[str, Any]:
    """Read YAML or JSON."""
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no configuration file {path}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"the configuration file {path} cannot be read: {reason}") from error
    if not isinstance(data, dict):
        raise UsageError(f"the configuration file {path} must contain a mapping, like the config.yaml of a run")
    if "trust_remote_code" in data:
        raise UsageError(
            f"{path}: trust_remote_code is only allowed on the command line: a file cannot consent for you"
        )
    return data


def write_config_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write YAML that `read_config_file` can read, in the given order."""
    import yaml

    text = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True)
    write_atomically(path, lambda file: file.write(text.encode()))
