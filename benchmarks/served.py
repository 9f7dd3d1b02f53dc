"""A server in a separate process, and clients that ask it as fast as it answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from stand_ins import PlaybackPolicy
from websockets.asyncio.client import connect

from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm_serve.wire import pack_openpi

HERE = Path(__file__).parent


class SleepingPolicy(PlaybackPolicy):
    """Plays recorded actions, and takes the same time for a batch of any size, as a large model on a GPU does."""

    def __init__(self, chunk: int, side: int, think_s: float = 0.0) -> None:
        super().__init__(chunk, ("observation.image", "observation.state"))
        self.wants = ObservationSpec(self.wants.inputs, shapes={"observation.image": (side, side, 3)})
        self.sleep_s = think_s
        self.quick = False

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        time.sleep(self.sleep_s)
        return super().infer(requests)


class Server:
    """``yardarm serve`` with a stand-in policy; it can be killed and started again on its port."""

    def __init__(self, **options: Any) -> None:
        self._options = [f"--policy.{name}={value}" for name, value in options.items()]
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}"

    def start(self) -> None:
        words = ["serve", "--policy.type=served:SleepingPolicy", *self._options, f"--port={self._port}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "yardarm", *words, "--env.type=metaworld", "--env.task=reach-v3", *self._sizes()],
            cwd=HERE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        match = re.search(r"ws://[\d.]+:(\d+)", line)
        assert match, "the server did not start"
        self._port = int(match[1])

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def batches(self) -> dict[int, int]:
        """Number of batches by their size, since the server started."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/config") as answer:
            return {int(size): count for size, count in json.load(answer)["batches"].items()}

    def _sizes(self) -> list[str]:
        side = next(option.partition("=")[2] for option in self._options if option.startswith("--policy.side="))
        return [f"--env.observation_height={side}", f"--env.observation_width={side}"]


@contextlib.contextmanager
def serving(**options: Any) -> Iterator[Server]:
    server = Server(**options)
    try:
        yield server
    finally:
        server.kill()


@dataclass(frozen=True)
class Load:
    """A server's performance under load."""

    requests_per_s: float
    latency_ms: float
    batch: float
    """Requests in a batch, on average."""


def load(url: str, connections: int, seconds: float, side: int) -> tuple[float, float]:
    """Requests per second, and the median time of an answer in ms. Runs in a separate process."""
    return asyncio.run(_load(url, connections, seconds, side))


async def _load(url: str, connections: int, seconds: float, side: int) -> tuple[float, float]:
    generator = np.random.default_rng(0)
    image = generator.integers(0, 256, (side, side, 3), np.uint8)
    frame = pack_openpi({"observation.image": image, "observation.state": np.zeros(4, np.float32)})
    times: list[float] = []

    async def ask() -> None:
        async with connect(url, compression=None, max_size=None) as socket:
            await socket.recv()
            ready.release()
            await begin.wait()
            while time.perf_counter() < until[0]:
                started = time.perf_counter()
                await socket.send(frame)
                await socket.recv()
                times.append(time.perf_counter() - started)

    ready, begin, until = asyncio.Semaphore(0), asyncio.Event(), [0.0]
    tasks = [asyncio.create_task(ask()) for _ in range(connections)]
    for _ in tasks:
        await ready.acquire()
    until[0] = time.perf_counter() + seconds
    begin.set()
    await asyncio.gather(*tasks)
    return len(times) / seconds, 1e3 * float(np.median(times))
