"""Bytes on the wire: as openpi and vla-eval write them, and nothing that harms."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from PIL import Image

from yardarm_serve.wire import Malformed, pack_openpi, pack_vla_eval, unpack

PACKERS = (pack_openpi, pack_vla_eval)
ARRAYS = npst.arrays(
    st.one_of(npst.boolean_dtypes(), npst.integer_dtypes(), npst.floating_dtypes(sizes=(16, 32, 64))),
    npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False), st.text())
# The protocols keep these for themselves: a map with one of them is an array, a number or a picture.
NAMES = st.text().filter(lambda name: name not in ("__ndarray__", "__npgeneric__", "__image__"))
MESSAGES = st.dictionaries(NAMES, st.one_of(PLAIN, ARRAYS, st.dictionaries(NAMES, ARRAYS, max_size=2)))


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    return left == right


@pytest.mark.parametrize("pack", PACKERS)
@given(message=MESSAGES)
def test_what_is_packed_is_unpacked(pack: Any, message: dict[str, Any]) -> None:
    assert same(unpack(pack(message)), message)


def test_openpis_bytes_are_as_its_protocol_says() -> None:
    packed = pack_openpi({"x": np.array([[1, 2]], np.float32)})
    assert packed.hex(" ").startswith("81 a1 78 84 c4 0b 5f 5f 6e 64 61 72 72 61 79 5f 5f c3 c4 04 64 61 74 61 c4 08")
    assert same(unpack(pack_openpi({"n": np.float32(1.5)})), {"n": np.float32(1.5)})


def test_vla_evals_scalars_are_plain_numbers() -> None:
    assert msgpack.unpackb(pack_vla_eval({"n": np.float32(1.5), "k": np.int64(3)})) == {"n": 1.5, "k": 3}


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_encoded_images_are_decoded(form: str) -> None:
    picture = np.full((5, 7, 3), 90, np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, form)
    sent = {"__image__": True, "format": form.lower(), "data": buffer.getvalue(), "shape": [5, 7, 3]}
    assert np.abs(unpack(msgpack.packb({"i": sent}))["i"].astype(int) - picture).max() <= 1
    raw = {"__image__": True, "format": "raw", "data": picture.tobytes(), "shape": [5, 7, 3], "dtype": "|u1"}
    assert same(unpack(msgpack.packb({"i": raw}))["i"], picture)


def array(**changes: Any) -> bytes:
    form = {"__ndarray__": True, "data": b"\0" * 8, "dtype": "<f4", "shape": [2], **changes}
    return msgpack.packb({"x": form})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x81\xa1x",
        array(dtype="|O"),
        array(dtype="f4,f4"),
        array(dtype="nonsense"),
        array(shape=[3]),
        array(shape=[-1]),
        array(shape="x"),
        array(data=7),
        msgpack.packb({"x": {"__ndarray__": True}}),
        msgpack.packb({"x": {"__image__": True, "format": "png", "data": b"no picture"}}),
        msgpack.packb({"x": {"__image__": True, "format": "gif", "data": b"GIF89a"}}),
        b"\x91" * 5000,
    ],
)
def test_damaged_or_dangerous_messages_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        unpack(data)


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_unpack_or_be_refused(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        unpack(data)


def test_images_that_would_fill_the_memory_are_refused() -> None:
    buffer = io.BytesIO()
    Image.new("1", (9000, 9000)).save(buffer, "PNG")
    assert len(buffer.getvalue()) < 100_000
    with pytest.raises(Malformed, match="9000×9000 pixels is too large"):
        unpack(msgpack.packb({"x": {"__image__": True, "format": "png", "data": buffer.getvalue()}}))
    buffer = io.BytesIO()
    Image.new("1", (6000, 6000)).save(buffer, "PNG")
    picture = {"__image__": True, "format": "png", "data": buffer.getvalue()}
    with pytest.raises(Malformed, match="too large"):
        unpack(msgpack.packb({"x": picture, "y": picture}))


def test_objects_cannot_be_sent() -> None:
    for pack in PACKERS:
        with pytest.raises((TypeError, Malformed)):
            pack({"x": np.array([object()])})
        with pytest.raises(TypeError):
            pack({"x": object()})
