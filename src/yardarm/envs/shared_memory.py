"""Shared memory: a worker writes observations, and the main process reads them without copying.

It has no name: its file descriptor is passed along with the worker's socket, so nothing is left behind, however the
processes end.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from yardarm.tasks import Feature

__all__ = ["MemoryLayout", "SharedMemory"]

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Space for a number of looks at some inputs, and for one frame of a film."""

    inputs: Mapping[str, Feature]
    looks: int = 1
    frame: tuple[int, int] = (0, 0)

    def look_size(self) -> int:
        """Bytes of one look."""
        return sum(_aligned(feature) for feature in self.inputs.values())

    def size(self) -> int:
        """Bytes in total, at least one, because empty memory cannot be mapped."""
        height, width = self.frame
        return max(1, self.looks * self.look_size() + height * width * 3)

    def arrays(self, memory: mmap.mmap) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:
        """Views into the memory: the inputs of each look, and the frame."""
        looks, offset = [], 0
        for _ in range(self.looks):
            look = {}
            for name, feature in self.inputs.items():
                count = int(np.prod(feature.shape))
                flat = np.frombuffer(memory, dtype=feature.dtype, count=count, offset=offset)
                look[name] = flat.reshape(feature.shape)
                offset += _aligned(feature)
            looks.append(look)
        height, width = self.frame
        frame = np.frombuffer(memory, dtype=np.uint8, count=height * width * 3, offset=offset)
        return looks, frame.reshape(height, width, 3)


class SharedMemory:
    """A mapped block and the arrays inside it."""

    def __init__(self, layout: MemoryLayout, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, layout.size())
        self.looks, self.frame = layout.arrays(self._memory)

    @classmethod
    def create(cls, layout: MemoryLayout) -> SharedMemory:
        """Create a block, owned by this process until it closes it."""
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("yardarm")
        else:  # macOS: an unlinked file does the same
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        os.ftruncate(descriptor, layout.size())
        return cls(layout, descriptor)

    def close(self) -> None:
        """Close the descriptor; the memory is freed with the last view of it."""
        os.close(self.descriptor)
        self.looks, self.frame = [], np.empty(0, np.uint8)


def _aligned(feature: Feature) -> int:
    size = int(np.prod(feature.shape)) * np.dtype(feature.dtype).itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT
