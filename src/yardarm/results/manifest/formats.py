"""Which formats of `manifest.json` and `training.json` are read, and how that of 0.1 becomes today's.

Format 2 has all sessions in one list, the newest last. In format 1, which 0.1 wrote, what the newest session was made
with stood at the top of the file, and only earlier ones were listed; what was not known was null; and some fields had
other names. The first files had no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from yardarm.contents import anything, list_of, map_of
from yardarm.errors import UsageError
from yardarm.results.manifest.codec import read_fields
from yardarm.results.manifest.session import SessionRecord

__all__ = ["FORMAT", "check_format", "numbered", "read_any_format"]

FORMAT = 2
"""A change that older versions would misunderstand gets a new number."""

NUMBER, SESSIONS, UPDATED = "format", "sessions", "updated"
IN_SESSIONS = {"session_started": "started", "inference": "batching"}
AT_THE_TOP = {"wandb": "tracking"}


def check_format(content: Any, path: Path, newest: int = FORMAT) -> None:
    """Refuse a file that a later version of Yardarm has written.

    It comes before all other checks: a later version may have other fields.
    """
    found = content.get(NUMBER, 1) if isinstance(content, dict) else 1
    if not isinstance(found, int):
        raise UsageError(f"{path} is damaged: its format is {found!r}, not a number")
    if found > newest:
        raise UsageError(f"{path} has format {found}, and this Yardarm reads up to {newest}: update Yardarm")


def numbered(content: Mapping[str, Any]) -> dict[str, Any]:
    """With the number of today's format."""
    return {NUMBER: FORMAT, **content}


def read_any_format(kind: Any, content: Any, place: str) -> dict[str, Any]:
    """The fields of a manifest, by name."""
    map_of(anything)(content, place)
    own = {name: value for name, value in content.items() if name != NUMBER}
    return read_fields(kind, own, place) if content.get(NUMBER, 1) == FORMAT else _read_format_1(kind, own, place)


def _read_format_1(kind: Any, content: dict[str, Any], place: str) -> dict[str, Any]:
    list_of(map_of(anything))(content.get(SESSIONS, []), SESSIONS)
    known = {item.name for item in fields(kind)}
    of_session = {*IN_SESSIONS, *(item.name for item in fields(SessionRecord))} - known
    newest = {name: value for name, value in content.items() if name in of_session or name == UPDATED}
    sessions = [(f"{SESSIONS}[{number}]", own) for number, own in enumerate(content.get(SESSIONS, []))]
    return read_fields(
        kind,
        _renamed({name: value for name, value in content.items() if name not in of_session}, AT_THE_TOP),
        place,
        sessions=tuple(
            SessionRecord.from_json(_renamed(own, IN_SESSIONS), where) for where, own in (*sessions, (place, newest))
        ),
    )


def _renamed(content: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in content.items() if value is not None}
