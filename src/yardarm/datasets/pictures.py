"""Pictures in the table: PNG files in a column."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image, UnidentifiedImageError

from yardarm.datasets.arrow import blaming, open_parquet
from yardarm.datasets.episodes import Episode
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.errors import DatasetFault, one_line
from yardarm.files import write_atomically

__all__ = ["EncodedPictures", "PictureTable", "decode_picture", "encode_picture"]

# How Pillow names pictures of one channel with more than 8 bits: LeRobot writes some of them as TIFF.
DEPTH_MODES = ("I;16", "I;16L", "I;16B", "I", "F")


def encode_picture(picture: np.ndarray) -> bytes:
    """A PNG of (height, width, 3) bytes, or of (height, width, 1) distances of 16 bits."""
    buffer = io.BytesIO()
    Image.fromarray(picture[..., 0] if picture.shape[-1] == 1 else picture).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()


def decode_picture(encoded: bytes) -> np.ndarray:
    """A picture as (height, width, 3) bytes; distances as (height, width, 1), in the type that they are stored in."""
    try:
        with Image.open(io.BytesIO(encoded)) as picture:
            if picture.mode in DEPTH_MODES:
                return np.array(picture)[..., None]
            return np.array(picture.convert("RGB"))
    except (UnidentifiedImageError, OSError, TypeError) as error:
        raise DatasetFault(f"a picture is damaged: {one_line(error)}") from error


class EncodedPictures:
    """Pictures in memory, as PNG files."""

    def __init__(self, encoded: np.ndarray) -> None:
        self._encoded = encoded

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Some of them, as (n, height, width, 3) bytes."""
        return np.stack([decode_picture(self._encoded[row]) for row in rows])


class PictureTable:
    """The pictures of some episodes, with fast access to any of them.

    Parquet only reads whole row groups, so the column is unpacked once into a file that is mapped into memory and
    shared by all processes.
    """

    def __init__(self, meta: DatasetMetadata, episodes: Sequence[Episode], key: str) -> None:
        self._key = key
        self._files = [meta.data_file(episode) for episode in episodes]
        self._starts = [episode.start for episode in episodes]
        self._bounds = np.cumsum([0, *(episode.length for episode in episodes)])
        self._columns: dict[Path, tuple[pa.ChunkedArray, dict[int, int]]] = {}

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Some of them, as (n, height, width, 3) bytes."""
        return np.stack([self._decoded(int(row)) for row in rows])

    def _decoded(self, row: int) -> np.ndarray:
        place = int(np.searchsorted(self._bounds, row, side="right")) - 1
        path, index = self._files[place], self._starts[place] + row - int(self._bounds[place])
        if path not in self._columns:
            self._columns[path] = _unpacked(path, self._key)
        column, numbers = self._columns[path]
        try:
            return decode_picture(column[numbers[index]].as_py())
        except (KeyError, DatasetFault) as error:
            raise DatasetFault(f"{path}: '{self._key}' of frame {index}: {one_line(error)}") from error

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_columns": {}}  # each process maps the files for itself


def _unpacked(path: Path, key: str) -> tuple[pa.ChunkedArray, dict[int, int]]:
    cached = _cache_file(path, key)
    if not cached.exists():
        schema = pa.schema([("index", pa.int64()), ("bytes", pa.large_binary())])

        def write(file: object) -> None:
            with pa.ipc.new_file(file, schema) as writer:
                for batch in _batches(path, key):
                    writer.write(batch)

        write_atomically(cached, write)
        for older in cached.parent.glob(f"{cached.stem.split('-')[0]}-*.arrow"):
            if older != cached:  # from before the same file grew
                older.unlink(missing_ok=True)
    table = pa.ipc.open_file(pa.memory_map(str(cached))).read_all()
    rows = {index: row for row, index in enumerate(table["index"].to_pylist())}
    return table["bytes"], rows


def _batches(path: Path, key: str) -> Iterator[pa.RecordBatch]:
    with blaming(path), open_parquet(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, ["index", key]).combine_chunks()
            encoded = table[key].chunk(0).field("bytes").cast(pa.large_binary())
            index = table["index"].chunk(0)
            yield pa.record_batch([index, encoded], names=["index", "bytes"])


def _cache_file(path: Path, key: str) -> Path:
    state = path.stat()
    names = [f"{path.resolve()}\0{key}", f"{state.st_size}\0{state.st_mtime_ns}\0{state.st_ino}"]
    file, version = (hashlib.sha256(name.encode()).hexdigest()[:16] for name in names)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "yardarm" / "pictures" / f"{file}-{version}.arrow"
