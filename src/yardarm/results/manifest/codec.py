"""Records as JSON and back. A record is a frozen dataclass, and its annotations say what its JSON must hold:

    @dataclass(frozen=True, slots=True)
    class PlannedTask(Record):
        name: str
        max_steps: Count
        instruction: str | None = None

A field without a default must be there. A field whose default is None is omitted while it is None. Names that this
version does not know, because a newer one added them, stay in the field `extra` if the record has one, and are written
again; a record without that field ignores them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from yardarm.contents import (
    Check,
    anything,
    count,
    flag,
    inside,
    list_of,
    map_of,
    number,
    one_of,
    positive,
    text,
    whole,
)

__all__ = ["Count", "Positive", "Record", "read_fields"]

Count = Annotated[int, count]
"""A whole number from 0 on."""
Positive = Annotated[int, positive]
"""A whole number from 1 on."""

Reader = Callable[[Any, str], Any]
"""Makes of JSON, which stands at this place, what a field holds; `ValueError` if it is something else."""

EXTRA = "extra"
is_list, is_map = list_of(anything), map_of(anything)
PLAIN: dict[Any, Check] = {str: text, int: whole, float: number, bool: flag, Any: anything}


class Record:
    """What is on disk as a map with named fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return _fields_to_json(self)

    @classmethod
    def from_json(cls, content: Any, place: str = "") -> Self:
        """Check and read what `to_json` has made; `ValueError` names the place of what is wrong."""
        return cls(**read_fields(cls, content, place))


def read_fields(kind: Any, content: Any, place: str, **given: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, if they are there; those that are `given` are not read."""
    if not isinstance(content, dict):
        is_map(content, place)
    layout, found = _layout_of(kind), given
    for name, read in layout.readers.items():
        if name in found:
            continue
        if name in content:
            found[name] = read(content[name], inside(place, name))
        elif name in layout.required:
            raise ValueError(f"{inside(place, name)} is missing")
    if layout.keeps_unknown:
        found[EXTRA] = {name: value for name, value in content.items() if name not in layout.readers}
    return found


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the fields of a dataclass say of its JSON; found out once."""

    readers: Mapping[str, Reader]
    required: frozenset[str]
    keeps_unknown: bool


@cache
def _layout_of(kind: Any) -> _Layout:
    types = get_type_hints(kind, include_extras=True)
    own = {item.name: item for item in fields(kind)}
    keeps_unknown = own.pop(EXTRA, None) is not None
    required = frozenset(name for name, item in own.items() if item.default is item.default_factory is MISSING)
    return _Layout({name: _reader(types[name]) for name in own}, required, keeps_unknown)


def _reader(annotation: Any) -> Reader:
    """How to read a value of a type."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return _checked(inner[1])
    if kind in (Union, UnionType):
        return _one_of_types([one for one in inner if one is not type(None)])
    if kind is Literal:
        return _checked(one_of(inner))
    if kind is tuple:
        return _items(_reader(inner[0]), None if inner[-1] is ... else len(inner))
    if kind is Mapping:
        return _values(_reader(inner[1]))
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation.from_json
    return _checked(PLAIN.get(annotation, anything))  # what is neither plain nor a record is given, never read


def _one_of_types(types: Sequence[Any]) -> Reader:
    if len(types) > 1:  # which one it is, the record's own `from_json` must say, and give it
        return _checked(anything)
    read = _reader(types[0])
    return lambda value, place: None if value is None else read(value, place)


def _checked(check: Check) -> Reader:
    def read(value: Any, place: str) -> Any:
        check(value, place)
        return value

    return read


def _items(read: Reader, length: int | None) -> Reader:
    def read_all(value: Any, place: str) -> tuple[Any, ...]:
        is_list(value, place)
        if length is not None and len(value) != length:
            raise ValueError(f"{place} must have {length} values, got {len(value)}")
        return tuple(read(item, f"{place}[{number}]") for number, item in enumerate(value))

    return read_all


def _values(read: Reader) -> Reader:
    def read_all(value: Any, place: str) -> dict[str, Any]:
        is_map(value, place)
        return {name: read(item, inside(place, name)) for name, item in value.items()}

    return read_all


def _fields_to_json(record: Any) -> dict[str, Any]:
    content = {
        item.name: _plain(value)
        for item in fields(record)
        if item.name != EXTRA and not _is_omitted(item, value := getattr(record, item.name))
    }
    return {**content, **getattr(record, EXTRA, {})}


def _is_omitted(item: Field[Any], value: Any) -> bool:
    return value is None and item.default is None


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
