"""Deterministic weights: a checkpoint of any size is rebuilt from its key names and shapes alone."""

import zlib

import numpy as np


def weight(key: str, shape: tuple[int, ...]) -> np.ndarray:
    """The float32 value of the state-dict entry `key`; the same on every machine."""
    noise = np.random.Generator(np.random.PCG64(zlib.crc32(key.encode()))).standard_normal(shape)
    if key.endswith("running_var"):
        value = 1.0 + 0.1 * np.abs(noise)
    elif len(shape) >= 2:
        value = noise / np.sqrt(np.prod(shape[1:]))
    elif key.endswith("weight"):  # a normalisation layer's gain
        value = 1.0 + 0.02 * noise
    else:
        value = 0.02 * noise
    return np.asarray(value, dtype=np.float32)
