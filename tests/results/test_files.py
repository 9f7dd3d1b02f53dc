"""Files that two may write at a time, and that a failure leaves as they were."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import IO

import numpy as np
import pytest

from yardarm.files import sweep, temporary_path, write_atomically
from yardarm.results import VideoWriter


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        write_atomically(path, fail)
    assert [(own.name, own.read_text()) for own in tmp_path.iterdir()] == [("report.html", "old")]


def test_an_evaluation_and_a_viewer_may_make_the_same_video(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    problems: list[Exception] = []

    def make() -> None:
        try:
            writer = VideoWriter(path, Fraction(20))
            for _ in range(20):
                writer.add(np.zeros((32, 32, 3), np.uint8))
            writer.finish()
        except Exception as error:
            problems.append(error)

    makers = [Thread(target=make) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert not problems
    assert [own.name for own in tmp_path.iterdir()] == ["video.mp4"]


def test_what_killed_writers_have_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from yardarm.files import temporary_path\n"
        "for name in sys.argv[1:]: temporary_path(Path(name)).write_text('half')\n"
        "place = temporary_path(Path('checkpoints/000500'))\n"
        "(place / 'inside').mkdir(parents=True); os.utime(place, (0, 0))\n"
        "os._exit(1)"
    )
    (tmp_path / "videos").mkdir()
    subprocess.run([sys.executable, "-c", script, "manifest.json", "videos/old.mp4", "videos/new.mp4"], cwd=tmp_path)
    left = {path.name.partition(".json")[0].partition(".mp4")[0]: path for path in tmp_path.rglob(".*.tmp")}
    own = temporary_path(tmp_path / "own.json")
    for path in (own, tmp_path / "notes.tmp", tmp_path / ".notes.tmp", left[".manifest"], left[".old"]):
        path.write_text("half")
        os.utime(path, (0, 0))
    sweep(tmp_path)
    kept = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {own, tmp_path / "notes.tmp", tmp_path / ".notes.tmp", left[".new"]}, "in flight, not ours, or new"
    assert not list((tmp_path / "checkpoints").iterdir())
