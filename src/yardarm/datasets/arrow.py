"""Converts frames to Arrow tables, in the types that LeRobot's reader expects, and back to arrays."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from yardarm.datasets.features import DatasetFeature, Schema
from yardarm.errors import DatasetFault, UsageError
from yardarm.files import write_atomically

__all__ = [
    "OpenFile",
    "arrow_schema",
    "blaming",
    "frames_table",
    "open_parquet",
    "read_table",
    "row_groups",
    "to_arrow",
    "to_numpy",
    "write_row_groups",
]

# Opens a file that is not on this machine's disk.
OpenFile = Callable[[Path], Any]
PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def arrow_schema(schema: Schema) -> pa.Schema:
    """The columns of a dataset's data files; videos have none."""
    stored = {name: feature for name, feature in schema.items() if not feature.is_video}
    for name, feature in stored.items():
        if feature.dtype not in ("image", "string") and not feature.is_numeric:
            raise UsageError(
                f"the feature '{name}' has the dtype {feature.dtype}, which cannot be written; "
                f"remove it first: yardarm dataset remove-feature DIR --names={name} --output=NEW"
            )
    described = {name: _huggingface_type(feature) for name, feature in stored.items()}
    # The `datasets` library, and with it the Hub's viewer, finds pictures and matrices by this description.
    metadata = {"huggingface": json.dumps({"info": {"features": described}})}
    return pa.schema([(name, _arrow_type(feature)) for name, feature in stored.items()], metadata=metadata)


def _arrow_type(feature: DatasetFeature) -> pa.DataType:
    if feature.dtype == "image":
        return PICTURE
    value = pa.string() if feature.dtype == "string" else pa.from_numpy_dtype(np.dtype(feature.dtype))
    if feature.is_scalar:
        return value
    if len(feature.shape) == 1:
        return pa.list_(value, feature.shape[0])
    for _ in feature.shape:
        value = pa.list_(value)
    return value


def _huggingface_type(feature: DatasetFeature) -> dict[str, Any]:
    if feature.dtype == "image":
        return {"_type": "Image"}
    value = {"dtype": feature.dtype, "_type": "Value"}
    if feature.is_scalar:
        return value
    if len(feature.shape) == 1:
        return {"feature": value, "length": feature.shape[0], "_type": "List"}
    return {"shape": list(feature.shape), "dtype": feature.dtype, "_type": f"Array{len(feature.shape)}D"}


def frames_table(schema: Schema, columns: Mapping[str, Any]) -> pa.Table:
    """An episode's columns as a table: arrays with one row per frame, or encoded pictures."""
    arrow = arrow_schema(schema)
    return pa.table([to_arrow(schema[name], columns[name]) for name in arrow.names], schema=arrow)


def to_arrow(feature: DatasetFeature, values: Any) -> pa.Array:
    """A column with one value per frame."""
    kind = _arrow_type(feature)
    if feature.dtype == "image":
        return pa.array([{"bytes": encoded, "path": None} for encoded in values], kind)
    if feature.dtype == "string":
        return pa.array([str(value) for value in values], kind)
    array = np.ascontiguousarray(np.asarray(values, feature.dtype).reshape(len(values), *feature.shape))
    if feature.is_scalar:
        return pa.array(array.reshape(-1), kind)
    flat = pa.array(array.reshape(-1))
    if len(feature.shape) == 1:
        return pa.FixedSizeListArray.from_arrays(flat, feature.shape[0])
    for axis in range(len(feature.shape), 0, -1):
        side, rows = array.shape[axis], int(np.prod(array.shape[:axis]))
        flat = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * side), flat)
    return flat


def to_numpy(feature: DatasetFeature, column: pa.ChunkedArray) -> np.ndarray:
    """A column's values as an array with one row per frame; scalars get no extra axis."""
    if feature.dtype == "string":
        return np.array(column.to_pylist(), dtype=object)
    if feature.dtype == "image":
        return np.array([picture["bytes"] for picture in column.to_pylist()], dtype=object)
    parts = [_flat(chunk) for chunk in column.chunks]
    flat = np.concatenate(parts) if parts else np.empty(0)
    shape = () if feature.is_scalar else feature.shape
    return np.ascontiguousarray(flat.astype(feature.dtype, copy=False)).reshape(len(column), *shape)


def _flat(array: pa.Array) -> np.ndarray:
    while pa.types.is_nested(array.type) or isinstance(array, pa.ExtensionArray):
        array = array.storage if isinstance(array, pa.ExtensionArray) else array.flatten()
    return array.to_numpy(zero_copy_only=False)


@contextlib.contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Turn any failure inside the block into a `DatasetFault` that names this file.

    Parquet files have no checksums: a flipped bit can show up as invalid text, or as an impossible value.
    """
    try:
        yield
    except UsageError:
        raise
    except FileNotFoundError:
        raise DatasetFault(f"{path} is missing; the dataset is incomplete") from None
    except (pa.ArrowException, OSError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise DatasetFault(f"{path} is damaged or cut short: {_first_line(error)}") from error


def open_parquet(path: Path, open_file: OpenFile | None = None) -> pq.ParquetFile:
    """Open a Parquet file, or say that it is missing or damaged."""
    with blaming(path):
        if open_file is not None:
            return pq.ParquetFile(open_file(path), pre_buffer=True)
        return pq.ParquetFile(path, memory_map=True)


def read_table(path: Path, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None) -> pa.Table:
    """Read a Parquet file, or some of its row groups."""
    with blaming(path), open_parquet(path) as file:
        table = file.read(columns) if groups is None else file.read_row_groups(list(groups), columns)
        table.validate(full=True)
        return table


def row_groups(file: pq.ParquetFile, column: str, first: int, last: int) -> list[int]:
    """The row groups in which an integer column may have values from `first` to `last`."""
    # Parquet splits nested columns, so the column is found by its path.
    place = next((at for at in range(len(file.schema)) if file.schema.column(at).path == column), None)
    if place is None or not file.num_row_groups:
        return list(range(file.num_row_groups))
    # pyarrow 26 aborts the process if statistics do not match a damaged schema; reading a column first raises instead.
    file.read_row_group(0, [column], use_threads=False)
    found = []
    for number in range(file.num_row_groups):
        known = file.metadata.row_group(number).column(place).statistics
        if known is None or not known.has_min_max or (known.min <= last and known.max >= first):
            found.append(number)
    return found


def write_row_groups(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write a Parquet file with one row group per table; it appears when it is complete."""

    def write(file: Any) -> None:
        with pq.ParquetWriter(file, schema, compression="snappy", use_dictionary=True) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=max(1, table.num_rows))

    write_atomically(path, write)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
