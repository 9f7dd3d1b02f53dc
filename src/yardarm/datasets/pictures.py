"""Pictures that lie in the table: PNG files in a column."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image, UnidentifiedImageError

from yardarm.datasets.arrow import open_parquet
from yardarm.errors import DatasetFault, one_line
from yardarm.files import write_atomically

__all__ = ["PictureTable", "decode_picture", "encode_picture"]


def encode_picture(picture: np.ndarray) -> bytes:
    """A PNG of (height, width, 3) bytes."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()


def decode_picture(encoded: bytes) -> np.ndarray:
    """A picture as (height, width, 3) bytes."""
    try:
        with Image.open(io.BytesIO(encoded)) as picture:
            return np.array(picture.convert("RGB"))
    except (UnidentifiedImageError, OSError, TypeError) as error:
        raise DatasetFault(f"a picture is damaged: {one_line(error)}") from error


class PictureTable:
    """The pictures of some data files, any of which can be reached at once.

    Parquet gives out whole row groups only, so the column is unpacked once into a file that is mapped into memory and
    shared by all processes.
    """

    def __init__(self, paths: Sequence[Path], key: str) -> None:
        self._paths = tuple(paths)
        self._key = key
        self._columns: dict[int, tuple[pa.ChunkedArray, dict[int, int]]] | None = None

    def __getitem__(self, place: tuple[int, int]) -> np.ndarray:
        """The picture of a frame: the number of its file among the files, and its index in the dataset."""
        number, index = place
        if self._columns is None:
            self._columns = {}
        if number not in self._columns:
            self._columns[number] = _unpacked(self._paths[number], self._key)
        column, rows = self._columns[number]
        try:
            return decode_picture(column[rows[index]].as_py())
        except (KeyError, DatasetFault) as error:
            raise DatasetFault(f"{self._paths[number]}: '{self._key}' of frame {index}: {one_line(error)}") from error

    def __getstate__(self) -> dict[str, object]:
        return {"_paths": self._paths, "_key": self._key, "_columns": None}


def _unpacked(path: Path, key: str) -> tuple[pa.ChunkedArray, dict[int, int]]:
    cached = _cache_file(path, key)
    if not cached.exists():
        schema = pa.schema([("index", pa.int64()), ("bytes", pa.large_binary())])

        def write(file: object) -> None:
            with pa.ipc.new_file(file, schema) as writer:
                for batch in _batches(path, key):
                    writer.write(batch)

        write_atomically(cached, write)
    table = pa.ipc.open_file(pa.memory_map(str(cached))).read_all()
    rows = {index: row for row, index in enumerate(table["index"].to_pylist())}
    return table["bytes"], rows


def _batches(path: Path, key: str) -> Iterator[pa.RecordBatch]:
    file = open_parquet(path)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, ["index", key]).combine_chunks()
        encoded = table[key].chunk(0).field("bytes").cast(pa.large_binary())
        index = table["index"].chunk(0)
        yield pa.record_batch([index, encoded], names=["index", "bytes"])


def _cache_file(path: Path, key: str) -> Path:
    state = path.stat()
    name = f"{path.resolve()}\0{key}\0{state.st_size}\0{state.st_mtime_ns}\0{state.st_ino}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "yardarm" / "pictures" / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.arrow"
