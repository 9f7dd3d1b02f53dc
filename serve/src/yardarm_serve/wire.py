"""Encodes arrays in msgpack, in the two forms that are in use, and decodes both, and PNG or JPEG images.

openpi encodes arrays as maps with byte keys, vla-eval as maps with text keys.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgpack
import numpy as np

from yardarm_serve.counting import excess

__all__ = ["Malformed", "pack_openpi", "pack_vla_eval", "unpack"]

# Booleans, integers, floats and strings: other types would run code, or contain pointers.
SAFE_KINDS = frozenset("biufSU")
# For all images in a message together: a small file can contain an image that fills the memory.
MOST_PIXELS = 64_000_000
# numpy's own limit. Without a limit, multiplying a long list of large numbers takes minutes.
MOST_DIMENSIONS = 64
Part = Callable[[str], Any]


class Malformed(ValueError):
    """A frame that is not a valid message."""


def pack_openpi(value: Any) -> bytes:
    """Pack for openpi: arrays and numpy's scalars keep their types."""
    return msgpack.packb(value, default=_openpi_form)


def pack_vla_eval(value: Any) -> bytes:
    """Pack for vla-eval: arrays keep their types, numpy's scalars become plain numbers."""
    return msgpack.packb(value, default=_vla_eval_form)


def unpack(data: bytes | str) -> Any:
    """Unpack either form; arrays are read-only views of the message."""
    if isinstance(data, str):
        raise Malformed("got a text frame instead of a binary one with msgpack")
    if too_much := excess(data):
        raise Malformed(f"the message of {len(data)} bytes has {too_much}")
    try:
        return msgpack.unpackb(data, object_hook=_Restorer())
    except Malformed:
        raise
    except Exception as error:  # msgpack raises a dozen types, and so do damaged arrays and images
        raise Malformed(f"not a valid msgpack message ({len(data)} bytes): {type(error).__name__}: {error}") from error


def _openpi_form(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        form = {"__ndarray__": True, "data": value.tobytes(), "dtype": _safe(value.dtype).str, "shape": value.shape}
    elif isinstance(value, np.generic):
        form = {"__npgeneric__": True, "data": value.item(), "dtype": _safe(value.dtype).str}
    else:
        raise TypeError(f"{type(value).__name__} cannot be sent")
    return {name.encode(): part for name, part in form.items()}


def _vla_eval_form(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        shape = list(value.shape)
        return {"__ndarray__": True, "data": value.tobytes(), "dtype": _safe(value.dtype).str, "shape": shape}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


class _Restorer:
    """Decodes the arrays, scalars and images of one message."""

    def __init__(self) -> None:
        self._pixels_left = MOST_PIXELS

    def __call__(self, form: Mapping[Any, Any]) -> Any:
        for marker, restore in (("__ndarray__", _array), ("__npgeneric__", _scalar), ("__image__", self._image)):
            if marker in form:
                return restore(form.__getitem__)
            if marker.encode() in form:
                return restore(partial(_by_bytes, form))
        return form

    def _image(self, part: Part) -> np.ndarray:
        if part("format") == "raw":
            return _array(part)
        try:
            from PIL import Image
        except ImportError:
            raise Malformed("PNG and JPEG images need Pillow on the server: pip install pillow") from None
        with Image.open(io.BytesIO(part("data")), formats=("PNG", "JPEG")) as image:
            self._pixels_left -= image.width * image.height
            if self._pixels_left < 0:
                raise Malformed(f"an image of {image.width}×{image.height} pixels is too large")
            return np.asarray(image)


def _by_bytes(form: Mapping[Any, Any], name: str) -> Any:
    return form[name.encode()]


def _array(part: Part) -> np.ndarray:
    dtype, shape, data = _safe(np.dtype(part("dtype"))), tuple(part("shape")), part("data")
    if len(shape) > MOST_DIMENSIONS:
        raise Malformed(f"an array has {len(shape)} dimensions; at most {MOST_DIMENSIONS} are allowed")
    if any(side < 0 for side in shape):
        raise Malformed(f"an array has the negative shape {shape}")
    if math.prod(shape) == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(data, dtype).reshape(shape)


def _scalar(part: Part) -> Any:
    return _safe(np.dtype(part("dtype"))).type(part("data"))


def _safe(dtype: np.dtype) -> np.dtype:
    if dtype.kind not in SAFE_KINDS:
        raise Malformed(f"arrays of {dtype} are not allowed")
    return dtype
