"""Measures datasets: random access, a shuffled loader, writing, and memory over many passes.

python benchmarks/dataset_io.py --output=benchmarks/2026-11-datasets.md
LEROBOT_PYTHON=… python benchmarks/dataset_io.py      (an interpreter with LeRobot, to compare with it)
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from campaign import Measurements, run_campaign
from report import Figure, Section
from torch.utils.data import DataLoader, Dataset

from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetLoader, DatasetWriter, LeRobotDataset, VideoEncoding

METHOD = """
A dataset with two cameras of 240x240 (AV1, a key frame every second frame, as LeRobot encodes them) and 14 numbers of
state and of action; an item has both pictures as floats, and a window of 50 actions.

"Plain" does only what is necessary, using just PyAV, pyarrow and torch: the actions in an array, the videos open, and
for each item a seek, decoding from the key frame on, conversion to RGB and to floats; for writing, encoding each frame
and one Parquet file at the end. It checks nothing, and if it crashes, nothing is left.

A ratio is the median of several rounds in which both take turns on the same frames in the same process, in CPU seconds
for a single thread (other programs on the machine cost time too), and in seconds for several processes. LeRobot is
measured with its own interpreter, with its PyAV backend, on the same files and frames.
"""
SIDE = 240
FPS = 30
WINDOW = 50
CAMERAS = ("observation.images.a", "observation.images.b")
NUMBERS = {"observation.state": DatasetFeature("float32", (14,)), "action": DatasetFeature("float32", (14,))}
FEATURES = {**NUMBERS, **{name: DatasetFeature("video", (SIDE, SIDE, 3)) for name in CAMERAS}}
ENOUGH = 1.3


@dataclass(frozen=True)
class Sizes:
    episodes: int
    length: int = 100
    samples: int = 300
    rounds: int = 5
    passes: int = 4


def picture(episode: int, frame: int, camera: int) -> np.ndarray:
    """Moving waves and a block: harder to encode than a plain colour, easier than noise."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    waves = 127 + 60 * np.sin((columns + 2 * frame + 7 * episode) / 19) + 50 * np.cos((rows - frame + 30 * camera) / 23)
    grey = waves.astype(np.uint8)
    pixels = np.stack([grey, np.roll(grey, 9, 0), 255 - grey], axis=-1)
    pixels[40 + frame % 100 : 70 + frame % 100, 60:100] = (250, 40, 40)
    return np.ascontiguousarray(pixels)


def frame_of(episode: int, frame: int) -> dict[str, Any]:
    generator = np.random.default_rng([episode, frame])
    numbers = {name: generator.normal(size=14).astype(np.float32) for name in NUMBERS}
    return {**numbers, **{name: picture(episode, frame, camera) for camera, name in enumerate(CAMERAS)}, "task": "push"}


def write_ours(root: Path, episodes: list[list[dict[str, Any]]]) -> None:
    with DatasetWriter.create(root, DatasetInfo(FPS, FEATURES)) as writer:
        for frames in episodes:
            for frame in frames:
                writer.add_frame(frame)
            writer.save_episode()


def write_plain(root: Path, episodes: list[list[dict[str, Any]]]) -> None:
    """Do only what is necessary: encode the videos, and write the numbers to one file."""
    root.mkdir()
    encoding = VideoEncoding()
    for number, frames in enumerate(episodes):
        for camera in CAMERAS:
            with av.open(str(root / f"{number}-{camera}.mp4"), "w") as container:
                stream: Any = container.add_stream("libsvtav1", rate=FPS, options=encoding.options)
                stream.width = stream.height = SIDE
                stream.pix_fmt = "yuv420p"
                for frame in frames:
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(frame[camera], format="rgb24")))
                container.mux(stream.encode())
    columns = {name: [frame[name].tolist() for frames in episodes for frame in frames] for name in NUMBERS}
    pq.write_table(pa.table(columns), root / "data.parquet")


class PlainDataset(Dataset):
    """Does only what is necessary to read the same items."""

    def __init__(self, root: Path, total: int, length: int) -> None:
        table = pa.concat_tables(pq.read_table(path) for path in sorted((root / "data").rglob("*.parquet")))
        self._state, self._action = (
            torch.from_numpy(np.stack(table[name].to_numpy())) for name in ("observation.state", "action")
        )
        self._paths = [sorted((root / "videos" / camera).rglob("*.mp4"))[0] for camera in CAMERAS]
        self._open: list[Any] = []
        self._total, self._length = total, length

    def __len__(self) -> int:
        return self._total

    def __getitem__(self, row: int) -> dict[str, torch.Tensor]:
        if not self._open:
            self._open = [av.open(str(path)) for path in self._paths]
            for container in self._open:
                container.streams.video[0].codec_context.thread_count = 1
        last = row // self._length * self._length + self._length - 1
        item = {"observation.state": self._state[row]}
        item["action"] = self._action[torch.arange(row, row + WINDOW).clamp(max=last)]
        for camera, container in zip(CAMERAS, self._open, strict=True):
            stream = container.streams.video[0]
            wanted = round(row / FPS / stream.time_base)
            container.seek(wanted, stream=stream)
            frame = next(frame for frame in container.decode(stream) if frame.pts >= wanted)
            pixels = torch.from_numpy(frame.to_ndarray(format="rgb24"))
            item[camera] = pixels.permute(2, 0, 1).contiguous().to(torch.float32).div_(255)
        return item


def open_ours(root: Path) -> LeRobotDataset:
    return LeRobotDataset(root=root, delta_timestamps={"action": [step / FPS for step in range(WINDOW)]})


def random_access(sizes: Sizes) -> Section:
    """Read items in random order, one at a time."""
    total = sizes.episodes * sizes.length
    with _dataset(sizes) as root:
        ours, plain = open_ours(root), PlainDataset(root, total, sizes.length)
        rows = np.random.default_rng(0).permutation(total)[: sizes.samples].tolist()
        for row in rows[:10]:
            assert torch.equal(ours[row][CAMERAS[1]], plain[row][CAMERAS[1]])
            assert torch.equal(ours[row]["action"], plain[row]["action"])

        def read(dataset: Any) -> None:
            for row in rows:
                dataset[row]

        ratio, rates = _against(partial(read, ours), partial(read, plain), sizes.rounds, time.process_time)
        others = _lerobot("read", root, rows)
    figures = [_bounded("items at random", len(rows), ratio, rates)]
    figures += _faster("items at random", len(rows) / rates[0], others)
    return Section("Random access", figures, [f"{total:,} frames in {sizes.episodes} episodes; no workers."])


def loading(sizes: Sizes) -> Section:
    """A shuffled loader with two workers."""
    total = sizes.episodes * sizes.length
    count = total // 16 * 16
    with _dataset(sizes) as root:
        ours = DatasetLoader(open_ours(root), 16, num_workers=2, drop_last=True)
        options: dict[str, Any] = {"num_workers": 2, "persistent_workers": True, "shuffle": True, "drop_last": True}
        plain = DataLoader(PlainDataset(root, total, sizes.length), 16, **options)

        def run(loader: Any) -> None:
            for _ in loader:
                pass

        run(ours)
        run(plain)  # now workers have started, and files are open
        ratio, rates = _against(partial(run, ours), partial(run, plain), sizes.rounds, time.perf_counter)
        others = _lerobot("load", root, [count])
    figures = [_bounded("items of a shuffled loader", count, ratio, rates)]
    figures += _faster("items of a shuffled loader", count / rates[0], others)
    return Section("A shuffled loader", figures, ["Batches of 16, two workers, an epoch a round."])


def writing(sizes: Sizes) -> Section:
    """Write frames, until they are encoded and on disk."""
    episodes = [[frame_of(episode, frame) for frame in range(sizes.length)] for episode in range(sizes.episodes)]
    count = sizes.episodes * sizes.length
    with _folder() as folder:
        names = iter(range(10_000))

        def write(how: Callable[[Path, Any], None]) -> None:
            root = folder / str(next(names))
            how(root, episodes)
            shutil.rmtree(root)

        ours, plain = partial(write, write_ours), partial(write, write_plain)
        ratio, rates = _against(ours, plain, sizes.rounds, time.perf_counter)
        stored = folder / "stored"
        write_ours(stored, episodes)
        others = _lerobot("write", stored, [sizes.episodes])
    figures = [_bounded("frames written", count, ratio, rates)]
    figures += _faster("frames written", count / rates[0], others)
    what = f"{sizes.episodes} episodes of {sizes.length} frames from memory; encoders use all cores."
    return Section("Writing", figures, [f"{what} Ours can be read after each episode, and after a crash."])


def memory(sizes: Sizes) -> Section:
    """Watch a process's memory while it reads everything again and again."""
    with _dataset(sizes) as root:
        dataset = open_ours(root)
        order = np.random.default_rng(0)
        seen = []
        for _ in range(sizes.passes):
            for row in order.permutation(len(dataset)).tolist():
                dataset[row]
            gc.collect()
            seen.append(psutil.Process().memory_info().rss / 1e6)
    growth = seen[-1] - seen[1]
    listed = ", ".join(f"{megabytes:.0f}" for megabytes in seen)
    target = 20
    figure = Figure(
        f"memory after {sizes.passes} passes over {len(dataset):,} frames, beyond that after the second",
        f"{growth:+.0f} MB",
        "",
        f"≤ {target} MB",
        growth <= target,
    )
    return Section("Memory", [figure], [f"Resident after each pass: {listed} MB."])


def _against(
    ours: Callable[[], None], plain: Callable[[], None], rounds: int, clock: Callable[[], float]
) -> tuple[float, tuple[float, float]]:
    """The median ratio of both, run in turns, and the fastest time of each in seconds."""
    torch.set_num_threads(1)
    pairs = []
    for number in range(rounds):
        order = [ours, plain] if number % 2 == 0 else [plain, ours]
        seconds = {}
        for run in order:
            started = clock()
            run()
            seconds[run] = clock() - started
        pairs.append((seconds[ours], seconds[plain]))
    ratio = statistics.median(own / other for own, other in pairs)
    return ratio, (min(own for own, _ in pairs), min(other for _, other in pairs))


def _bounded(what: str, count: int, ratio: float, rates: tuple[float, float]) -> Figure:
    against = f"{count / rates[1]:,.0f}/s plain, {count / rates[0]:,.0f}/s ours"
    return Figure(f"{what}: cost against plain", f"{ratio:.2f}×", against, f"≤ {ENOUGH}×", ratio <= ENOUGH, "1×")


def _faster(what: str, own: float, others: float | None) -> list[Figure]:
    if others is None:
        return []
    return [Figure(f"{what}: against LeRobot", f"{own / others:.1f}×", f"{others:,.0f}/s LeRobot", "", True)]


def _lerobot(what: str, root: Path, numbers: list[int]) -> float | None:
    """LeRobot's rate per second for the same work, if there is an interpreter that has it."""
    python = os.environ.get("LEROBOT_PYTHON")
    if not python:
        return None
    script = Path(__file__).with_name("lerobot_dataset.py")
    done = subprocess.run(
        [python, str(script), what, str(root), json.dumps(numbers)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(root.parent / "hf")},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stdout.splitlines()[-1])


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def _dataset(sizes: Sizes) -> Iterator[Path]:
    with _folder() as folder:
        episodes = ([frame_of(episode, frame) for frame in range(sizes.length)] for episode in range(sizes.episodes))
        write_ours(folder / "made", episodes)  # type: ignore[arg-type]
        yield folder / "made"


def measurements(sizes: Sizes, to_write: Sizes) -> Measurements:
    return {
        "random": partial(random_access, sizes),
        "loader": partial(loading, sizes),
        "writing": partial(writing, to_write),
        "memory": partial(memory, sizes),
    }


if __name__ == "__main__":
    run_campaign(
        "Datasets",
        __doc__ or "",
        METHOD,
        measurements(Sizes(20), Sizes(4, rounds=3)),
        measurements(Sizes(2, 30, 50, 3, 3), Sizes(2, 20, rounds=1)),
    )
