"""Writes the same dataset again and again, and dies a step later each time.

A step is the beginning of a table, a file's flush, its rename, or its removal. `save` dies while it saves the second
episode, `remove` while it removes it.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq

from tests.datasets.made import FAST, FPS, WITH_VIDEO, write_episodes
from yardarm.datasets import DatasetInfo, DatasetWriter


def dying_at(step: int, steps: list[int], action: Callable[..., Any]) -> Callable[..., Any]:
    """The same action, before which the process dies if it is its turn."""

    def act(*arguments: Any, **options: Any) -> Any:
        steps[0] += 1
        if steps[0] == step:
            os._exit(9)
        return action(*arguments, **options)

    return act


def write(root: pathlib.Path, step: int, pipe: int, then: str) -> None:
    with DatasetWriter.create(root, DatasetInfo(FPS, WITH_VIDEO), FAST) as writer:
        write_episodes(writer, WITH_VIDEO, [4] if then == "save" else [4, 4])
        steps = [0]
        os.fsync = dying_at(step, steps, os.fsync)
        pq.ParquetWriter.write_table = dying_at(step, steps, pq.ParquetWriter.write_table)
        pathlib.Path.replace = dying_at(step, steps, pathlib.Path.replace)  # type: ignore[method-assign]
        pathlib.Path.unlink = dying_at(step, steps, pathlib.Path.unlink)  # type: ignore[method-assign]
        os.write(pipe, bytes([writer.num_episodes]))
        if then == "save":
            write_episodes(writer, WITH_VIDEO, [4])
        else:
            writer.remove_last()


def main() -> None:
    folder, then = pathlib.Path(sys.argv[1]), sys.argv[2]
    for step in range(1, 1000):
        root = folder / f"crash{step}"
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            write(root, step, write_end, then)
            os._exit(0)
        os.close(write_end)
        _, status = os.waitpid(child, 0)
        saved = os.read(read_end, 100)[-1]
        os.close(read_end)
        if os.waitstatus_to_exitcode(status) == 0:
            return
        print(json.dumps({"root": str(root), "saved": saved}))
    raise SystemExit("it never came to an end")


main()
