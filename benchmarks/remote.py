"""Measures policies behind a socket: the extra cost of a look, how a server batches, what a crash costs.

python benchmarks/remote.py --output=benchmarks/2026-11-remote.md
python benchmarks/remote.py --scale=small --only=look224
"""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from campaign import Measurements, run_campaign
from processes import in_fresh_process
from report import Figure, Section
from served import Load, SleepingPolicy, load, serving

import yardarm
from yardarm.policies import Look, PolicySpec, Request, open_policy
from yardarm.results import RunResult, read_journal
from yardarm.tasks import EpisodeSpec
from yardarm.tasks.metaworld import MetaworldConfig
from yardarm_serve.wire import pack_openpi, unpack

METHOD = """
The server is `yardarm serve` in a separate process, on the same two cores as its clients, over the loopback. Its
policy is a stand-in that plays recorded actions; where it "thinks", it sleeps for a fixed time whatever the batch, as a
large model on a GPU does.

**A look** is one call of `infer` with one request (an image and four numbers), locally and through the socket, in turn,
by one thread; the table has medians. What arithmetic allows is packing and unpacking the same observation and the same
answer, without any socket. The whole evaluation is `yardarm.evaluate` with the same policy both ways, in turn; episodes
are compared record by record.

**Requests** come from one process with several connections, each of which asks again as soon as it is answered. The
client shares the cores with the server, and uses about as much CPU time. What arithmetic allows is one batch of all
connections in the time that the policy thinks plus the time that these requests take without thinking.

**The kill**: during an evaluation, the server is killed (SIGKILL) and started again, twice. Its episodes are
compared with those of an undisturbed evaluation.
"""
TARGET_LOOK_MS = 10.0
SHARE_TO_REACH = 0.8
CONNECTIONS = (1, 8, 64)


@dataclass(frozen=True)
class LookSizes:
    side: int
    calls: int
    episodes: int


def look(sizes: LookSizes) -> Section:
    """Measure one look, locally and through a socket; then a whole evaluation both ways."""
    env = MetaworldConfig(task="reach-v3", observation_height=sizes.side, observation_width=sizes.side)
    task = env.tasks()[0]
    home = SleepingPolicy(10, sizes.side)
    generator = np.random.default_rng(0)
    values = {
        "observation.image": generator.integers(0, 256, (sizes.side, sizes.side, 3), np.uint8),
        "observation.state": generator.normal(size=4),
    }
    with (
        serving(chunk=10, side=sizes.side) as server,
        open_policy(PolicySpec("remote", {"url": server.url}), [task]) as away,
    ):
        states = [policy.start(EpisodeSpec(task, 0, 1000)) for policy in (home, away.policy)]
        times: list[list[float]] = [[], []]
        for call in range(sizes.calls):
            for times_of, policy, state in zip(times, (home, away.policy), states, strict=True):
                request = Request(EpisodeSpec(task, 0, 1000), state, [Look(10 * (call % 40), values)])
                started = time.perf_counter()
                policy.infer([request])
                times_of.append(1e3 * (time.perf_counter() - started))
        runs = evaluations(env, server.url, sizes)
    at_home, afar = (median(times_of[sizes.calls // 10 :]) for times_of in times)
    bound = wire_ms(values)
    return Section(
        f"A look of {sizes.side}×{sizes.side}",
        [
            Figure(
                f"extra cost of a look of {sizes.side}×{sizes.side} through a socket",
                f"{afar - at_home:.2f} ms",
                f"local: {at_home:.3f} ms",
                f"at most {TARGET_LOOK_MS:g} ms, a twentieth of drawing 480×480",
                afar - at_home <= TARGET_LOOK_MS,
                f"{bound:.2f} ms",
            ),
            Figure(
                f"an evaluation of {sizes.episodes} episodes, chunks of 10, takes",
                f"{median(runs[1]) / median(runs[0]):.2f}×",
                f"local: {median(runs[0]):.1f} s",
                "at most 1.1×",
                median(runs[1]) <= 1.1 * median(runs[0]),
            ),
        ],
        [f"Seconds: local {_listed(runs[0])}, through a socket {_listed(runs[1])}; every episode was the same."],
    )


def evaluations(env: MetaworldConfig, url: str, sizes: LookSizes) -> tuple[list[float], list[float]]:
    """Seconds of the same evaluation locally and through a socket, in turn."""
    policies = (SleepingPolicy(10, sizes.side), PolicySpec("remote", {"url": url}))
    seconds: tuple[list[float], list[float]] = ([], [])
    courses = []
    with tempfile.TemporaryDirectory() as folder:
        for repetition in range(3):
            for number, policy in enumerate(policies):
                started = time.perf_counter()
                run = yardarm.evaluate(
                    policy,
                    env,
                    n_episodes=sizes.episodes,
                    batch_size=3,
                    output_dir=Path(folder) / f"{repetition}-{number}",
                )
                seconds[number].append(time.perf_counter() - started)
                courses.append(course(run))
    assert all(other == courses[0] for other in courses), "an episode differs"
    return seconds


def wire_ms(values: dict[str, np.ndarray]) -> float:
    """The time for packing and unpacking alone."""
    message, answer = {"yardarm": {"looks": [[0, values]]}}, {"actions": np.zeros((10, 4), np.float32)}
    times = []
    for _ in range(200):
        started = time.perf_counter()
        unpack(pack_openpi(message))
        unpack(pack_openpi(answer))
        times.append(1e3 * (time.perf_counter() - started))
    return median(times)


def requests(think_ms: float, side: int, seconds: float) -> Section:
    """Requests per second at 1, 8 and 64 connections, and the sizes of their batches."""
    section = Section("Requests per second")
    instant = {count: under_load(0, count, side, seconds) for count in CONNECTIONS}
    thinking = {count: under_load(think_ms, count, side, seconds) for count in CONNECTIONS}
    for count, under in instant.items():
        section.figures.append(_figure(f"{count} connection(s), a policy that answers at once", under))
    for count, under in thinking.items():
        allowed = count / (think_ms / 1e3 + count / instant[count].requests_per_s)
        name = f"{count} connection(s), a policy that takes {think_ms:g} ms for a batch"
        section.figures.append(_figure(name, under, allowed))
    section.notes.append(f"An observation has an image of {side}×{side} and four numbers, {3 * side**2 / 1e3:.0f} kB.")
    return section


def under_load(think_ms: float, connections: int, side: int, seconds: float) -> Load:
    """What a server does for this many connections."""
    with serving(chunk=10, side=side, think_s=think_ms / 1e3) as server:
        (rate, latency_ms), _ = in_fresh_process(load, server.url, connections, seconds, side)
        batches = server.batches()
    return Load(rate, latency_ms, sum(size * count for size, count in batches.items()) / sum(batches.values()))


def _figure(name: str, under: Load, allowed: float | None = None) -> Figure:
    return Figure(
        name,
        f"{under.requests_per_s:.0f} requests/s in batches of {under.batch:.1f}",
        f"an answer takes {under.latency_ms:.1f} ms",
        f"at least {SHARE_TO_REACH:g} of that" if allowed else "",
        allowed is None or under.requests_per_s >= SHARE_TO_REACH * allowed,
        f"{allowed:.0f} requests/s" if allowed else "",
    )


def killed(episodes: int) -> Section:
    """Run an evaluation whose server is killed and started again, twice."""
    env = MetaworldConfig(task="reach-v3,push-v3", observation_height=64, observation_width=64)
    options: dict[str, Any] = {"n_episodes": episodes, "batch_size": 3}
    with tempfile.TemporaryDirectory() as folder, serving(chunk=10, side=64, think_s=0.01) as server:
        policy = PolicySpec("remote", {"url": server.url})
        peace_s, undisturbed = _timed(policy, env, Path(folder) / "peace", options)
        disturber = threading.Thread(target=_kill_twice, args=(server, Path(folder) / "war", episodes))
        disturber.start()
        war_s, disturbed = _timed(policy, env, Path(folder) / "war", options)
        disturber.join()
    lost = 2 * episodes - disturbed.counts.episodes
    different = sum(course(disturbed).get(key) != value for key, value in course(undisturbed).items())
    again = sum(record.attempts - 1 for record in disturbed.episodes)
    return Section(
        "A server that is killed twice",
        [
            Figure(
                f"of {2 * episodes} episodes lost, or different from undisturbed ones, when the server is killed twice",
                f"{lost} lost, {different} different",
                f"undisturbed: {peace_s:.0f} s",
                "none",
                lost == different == 0,
            )
        ],
        [f"It took {war_s:.0f} s; {again} episodes were run again, because their connection died in the middle."],
    )


def _timed(policy: Any, env: MetaworldConfig, folder: Path, options: dict[str, Any]) -> tuple[float, RunResult]:
    started = time.perf_counter()
    run = yardarm.evaluate(policy, env, output_dir=folder, **options)
    return time.perf_counter() - started, run


def _kill_twice(server: Any, folder: Path, episodes: int) -> None:
    for share in (0.3, 0.7):
        while len(_journal(folder)) < share * 2 * episodes:
            time.sleep(0.02)
        server.kill()
        server.start()


def _journal(folder: Path) -> list[Any]:
    file = folder / "episodes.jsonl"
    return list(read_journal(file)) if file.exists() else []


def course(run: RunResult) -> dict[Any, Any]:
    """What happened in each episode, without the policy's name."""
    return {
        (record.key.task, record.key.index): {
            name: value for name, value in record.course().items() if name != "policy"
        }
        for record in run.episodes
    }


def _listed(seconds: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in seconds)


FULL: Measurements = {
    "look224": partial(look, LookSizes(side=224, calls=1000, episodes=6)),
    "look480": partial(look, LookSizes(side=480, calls=500, episodes=3)),
    "requests": partial(requests, think_ms=20, side=224, seconds=10),
    "killed": partial(killed, episodes=20),
}
SMALL: Measurements = {
    "look224": partial(look, LookSizes(side=224, calls=100, episodes=1)),
    "look480": partial(look, LookSizes(side=480, calls=50, episodes=1)),
    "requests": partial(requests, think_ms=20, side=224, seconds=2),
    "killed": partial(killed, episodes=5),
}


if __name__ == "__main__":
    run_campaign("Policies behind a socket", __doc__ or "", METHOD, FULL, SMALL)
