"""Measures memory, and the engine's overhead per episode."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass

import psutil
from engine_run import run_engine
from processes import in_fresh_process
from report import Figure, Section
from stand_ins import IMAGE_AND_STATE, STATE_ONLY, InstantConfig, PlaybackPolicy

import yardarm
from yardarm.evaluation import EvaluationListener
from yardarm.results import EpisodeRecord
from yardarm.tasks.metaworld import MetaworldConfig

MB = 1e6
MOST_GROWTH_OVER_TASKS = 1.15
MOST_BLIND_MB = 220
MOST_SEEING_MB = 450
MOST_GROWTH_OVER_EPISODES = 1.1
REPEATED = 3


@dataclass(frozen=True)
class TaskMemorySizes:
    """The many tasks, and the one task to compare them with."""

    many: str
    one: str
    n_episodes: int


def memory_over_tasks(sizes: TaskMemorySizes) -> Section:
    """Compare the memory of all processes over many tasks with that over one."""
    tasks = len(MetaworldConfig(task=sizes.many).tasks())
    _, many = in_fresh_process(evaluate_experts, sizes.many, sizes.n_episodes)
    _, one = in_fresh_process(evaluate_experts, sizes.one, sizes.n_episodes * tasks)
    times = many.all_pss / one.all_pss
    section = Section("Memory over many tasks")
    section.figures = [
        Figure(
            name=f"peak memory of all processes over `{sizes.many}`: {many.all_pss / MB:.0f} MB",
            measured=f"{times:.2f}×",
            against=f"`{sizes.one}`: {one.all_pss / MB:.0f} MB",
            target=f"≤ {MOST_GROWTH_OVER_TASKS}×",
            reached=times <= MOST_GROWTH_OVER_TASKS,
        )
    ]
    section.notes = [
        "Main process, launcher and workers: the largest sum of their PSS, read every 50 ms; "
        f"{tasks * sizes.n_episodes} episodes each.",
    ]
    return section


def evaluate_experts(tasks: str, n_episodes: int) -> None:
    run_engine("expert", MetaworldConfig(task=tasks), n_episodes)


def worker_memory(task: str, n_episodes: int) -> Section:
    """Measure a worker's memory without and with rendering."""
    section = Section("Memory of a worker")
    for name, inputs, most in (
        ("nothing rendered", STATE_ONLY, MOST_BLIND_MB),
        ("after software rendering at 480×480", IMAGE_AND_STATE, MOST_SEEING_MB),
    ):
        _, peak = in_fresh_process(evaluate_alone, task, inputs, n_episodes)
        section.figures.append(
            Figure(
                name=f"a worker's memory, {name}",
                measured=f"{peak.worker_rss / MB:.0f} MB (PSS {peak.worker_pss / MB:.0f} MB)",
                against="",
                target=f"≤ {most} MB",
                reached=peak.worker_rss <= most * MB,
            )
        )
    section.notes = [f"`{task}`; the peak of RSS, which counts in full what the worker shares with its launcher."]
    return section


def evaluate_alone(task: str, inputs: tuple[str, ...], n_episodes: int) -> None:
    run_engine(PlaybackPolicy(100, inputs), MetaworldConfig(task=task), n_episodes, batch_size=1)


@dataclass(frozen=True)
class InstantRun:
    """What the engine cost with episodes that take no time."""

    episodes: int
    episode_s: float
    """From one finished episode to the next, on average, without the start."""
    end_s: float
    """From the last episode to the end of the call."""
    main_bytes: int
    """Memory of the main process at the end."""


class FinishTimes(EvaluationListener):
    """Records when each episode was in the journal."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def finished(self, record: EpisodeRecord) -> None:
        self.times.append(time.perf_counter())


def evaluate_instant(n_episodes: int) -> InstantRun:
    listener = FinishTimes()
    policy = PlaybackPolicy(1, ())
    with tempfile.TemporaryDirectory() as folder:
        result = yardarm.evaluate(policy, InstantConfig(), n_episodes=n_episodes, output_dir=folder, listener=listener)
        ended = time.perf_counter()
    assert result.counts.successes == n_episodes, "an instant episode went wrong"
    first, last = listener.times[0], listener.times[-1]
    return InstantRun(n_episodes, (last - first) / (n_episodes - 1), ended - last, psutil.Process().memory_info().rss)


def instant_episodes(few: int, many: int) -> Section:
    """Measure episodes that take no time: only the engine's overhead remains, which must not grow with their number."""
    before = [in_fresh_process(evaluate_instant, few) for _ in range(REPEATED)]
    large, large_memory = in_fresh_process(evaluate_instant, many)
    after = [in_fresh_process(evaluate_instant, few) for _ in range(REPEATED)]
    small = [run for run, _ in before + after]
    episode_s = statistics.median(run.episode_s for run in small)
    main_bytes = statistics.median(run.main_bytes for run in small)
    all_bytes = statistics.median(peak.all_pss for _, peak in before + after)
    section = Section("Instant episodes")
    section.figures = [
        growth_figure(
            f"overhead per episode at {many:,} instant episodes", "ms", 1e3 * large.episode_s, 1e3 * episode_s, few
        ),
        growth_figure(
            f"peak memory of all processes at {many:,} instant episodes",
            "MB",
            large_memory.all_pss / MB,
            all_bytes / MB,
            few,
        ),
    ]
    section.notes = [
        "Overhead per episode: from one finished episode to the next, including writing to disk, but not the start.",
        f"At {few}: the median of {len(small)} runs, half of them before the large one and half after.",
        f"Main process: {large.main_bytes / MB:.1f} MB compared with {main_bytes / MB:.1f} MB, "
        f"{(large.main_bytes - main_bytes) / (many - few) / 1e3:.2f} kB an episode: its record, kept for the result.",
        f"From the last episode to the end of the call: {large.end_s:.2f} s at {many:,}, "
        f"{statistics.median(run.end_s for run in small):.2f} s at {few}.",
    ]
    return section


def growth_figure(name: str, unit: str, large: float, small: float, few: int) -> Figure:
    return Figure(
        name=f"{name}: {large:.2f} {unit}",
        measured=f"{large / small:.2f}×",
        against=f"{small:.2f} {unit} at {few}",
        target=f"no growth (≤ {MOST_GROWTH_OVER_EPISODES}×)",
        reached=large <= MOST_GROWTH_OVER_EPISODES * small,
    )
