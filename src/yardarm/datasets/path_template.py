"""The paths of a dataset's files: ``data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet``.

A dataset may be untrusted, and Python's own formatting would look up any attributes and pad to any width that its
`info.json` asks for. So only known names in braces are filled in here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from yardarm.errors import UsageError

__all__ = ["check_template", "fill_template"]

FIELD = re.compile(r"\{(\w+)(?::0?(\d{0,2})d)?\}")
NUMBERS = ("chunk_index", "file_index", "episode_chunk", "episode_index")
WIDEST = 20
LONGEST = 500


def check_template(name: str, template: object, fields: Collection[str]) -> None:
    """Reject a path template that has other fields than these, or that leads out of the dataset."""
    if not isinstance(template, str) or not 0 < len(template) <= LONGEST:
        raise UsageError(f"{name} must be a path of at most {LONGEST} characters, got {str(template)[:50]!r}")
    for field, width in FIELD.findall(template):
        if field not in fields:
            raise UsageError(f"{name} has the field {{{field}}}; only {', '.join(sorted(fields))} are allowed")
        if int(width or 0) > WIDEST:
            raise UsageError(f"{name} pads {{{field}}} to {width} digits; at most {WIDEST} are allowed")
    plain = FIELD.sub("0", template)
    if "{" in plain or "}" in plain:
        raise UsageError(f"{name} is '{template}'; fields are written as {{chunk_index:03d}}")
    _check_inside(name, plain)


def fill_template(template: str, **values: int | str) -> str:
    """The path of a file. It is checked too, since a camera's name may also be untrusted."""

    def filled(match: re.Match[str]) -> str:
        field, width = match.groups()
        return str(values[field]).zfill(int(width or 0)) if field in NUMBERS else str(values[field])

    path = FIELD.sub(filled, template)
    _check_inside("a path of the dataset", path)
    return path


def _check_inside(name: str, path: str) -> None:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\\" in path or "\0" in path:
        raise UsageError(f"{name} leads out of the dataset's folder: '{path}'")
