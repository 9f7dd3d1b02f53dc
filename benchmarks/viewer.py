"""Measures the report and the viewer in a real browser: lists of 500 and 2,000 runs, and a run of 10,000 episodes.

python benchmarks/viewer.py --output=benchmarks/2026-11-viewer.md
python benchmarks/viewer.py --scale=small --only=list
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import yaml
from campaign import Measurements, run_campaign
from playwright.sync_api import Page, sync_playwright
from report import Figure, Section

from yardarm.evaluation import EvalOptions
from yardarm.files import write_json
from yardarm.pages import write_report
from yardarm.results import EpisodeKey, EpisodeRecord, PlayedEpisode, RunFolder
from yardarm.tasks import EpisodeTiming
from yardarm.tasks.metaworld import MetaworldConfig

METHOD = """
Runs are made up on disk (journals, manifests and, for the large run, the recorded actions of every episode); the viewer
is `yardarm view` in a separate process, and the browser is the system's Chromium without a window, on the same two
cores. A time in the browser lasts from the click, the key or the address until the result is on the page, and the
browser has drawn it and responds again; the second of two is taken, because the first includes one-time costs.

"Usable" means: a page within 2 s, a click or a key within 0.5 s.
"""
PAGE_S, CLICK_S = 2.0, 0.5
# As long as a real configuration.
CONFIG = {
    "seed": 1000,
    "policy": {"type": "expert"},
    "env": {"type": "metaworld", **asdict(MetaworldConfig(task="easy"))},
    "eval": asdict(EvalOptions()),
}


@dataclass(frozen=True)
class Sizes:
    runs: int = 0
    tasks: int = 10
    episodes: int = 5


def list_of_runs(sizes: Sizes) -> Section:
    """Open, sort, filter and update the list of runs."""
    with _folder() as folder, _browser() as page:
        for number in range(sizes.runs):
            _make_run(folder / f"{number % 30:02d}" / f"run_{number:04d}", sizes, number, played=False)
        with _viewer(folder) as (address, process):
            cold = _timed(lambda: _fetch(f"{address}/api/runs"))
            warm = _timed(lambda: _fetch(f"{address}/api/runs"))
            rows = page.locator("tbody tr")

            def open_list() -> None:
                page.goto(address)
                rows.nth(min(99, sizes.runs - 1)).wait_for()

            open_list()
            opened = _timed(open_list)
            by_rate = page.locator("thead").get_by_role("button", name="Success")
            sorted_s = _second(lambda: (by_rate.click(), _settled(page)))
            box = page.get_by_role("searchbox")
            filtered_s = _second(lambda: (box.fill(""), box.fill("run_0007"), _settled(page)))
            assert rows.count() == 1, rows.count()
            box.fill("")
            groups = page.get_by_role("combobox", name="Group by")
            grouped_s = _second(lambda: (groups.select_option("none"), groups.select_option("policy"), _settled(page)))
            groups.select_option("folder")
            changed = _change_is_seen(page, folder / "07" / "run_0007", sizes)
            megabytes = process.memory_info().rss / 1e6
    count = f"{sizes.runs:,} runs"
    return Section(
        f"A list of {count}",
        [
            _figure(f"{count}: the list, opened", opened, PAGE_S),
            _figure(f"{count}: sorted by another column", sorted_s, CLICK_S),
            _figure(f"{count}: filtered", filtered_s, CLICK_S),
            _figure(f"{count}: grouped in two other ways", grouped_s, CLICK_S),
            _figure(f"{count}: a new episode in one of them is shown after", changed, PAGE_S),
        ],
        [
            f"Each has {sizes.tasks * sizes.episodes} episodes. The server's first answer takes {cold:.2f} s, because "
            f"it reads every journal, and the next {1000 * warm:.0f} ms; it uses {megabytes:.0f} MB.",
        ],
    )


def large_run(sizes: Sizes) -> Section:
    """Open a large run's report, its page, and an episode."""
    total = sizes.tasks * sizes.episodes
    with _folder() as folder, _browser() as page:
        run = RunFolder(_make_run(folder / "large", sizes, 1, played=True))
        wrote = _second(lambda: write_report(run))
        size = run.report.stat().st_size / 1e6

        def open_page(address: str) -> None:
            page.goto("about:blank")
            page.goto(address)
            page.locator("a.cell").nth(total - 1).wait_for(state="attached")
            _settled(page)

        report_s = _second(lambda: open_page(run.report.as_uri()))
        cell = page.locator("a.cell").nth(total // 2)
        to_episode = _timed(lambda: (cell.click(), page.locator("#episode h2").wait_for()))
        moved = _timed(lambda: (cell.focus(), page.keyboard.press("ArrowRight"), _settled(page)))
        by_steps = page.locator("#episodes").get_by_role("button", name="Steps")
        sorted_s = _second(lambda: (by_steps.click(), _settled(page)))
        with _viewer(folder) as (address, _):
            answer = _second(lambda: _fetch(f"{address}/api/run?run=large"))
            page_s = _second(lambda: open_page(f"{address}/run?run=large"))
            page.locator("a.cell").nth(3).click()
            episode_s = _second(lambda: (page.reload(), page.locator(".timeline").first.wait_for()))
    count = f"{total:,} episodes"
    return Section(
        f"A run of {count}",
        [
            _figure(f"{count}: report.html, written", wrote, PAGE_S),
            _figure(f"{count}: report.html, opened from disk", report_s, PAGE_S),
            _figure(f"{count}: from a cell to its episode in it", to_episode, CLICK_S),
            _figure(f"{count}: from a cell to the next by the arrow key", moved, CLICK_S),
            _figure(f"{count}: the table of episodes, sorted", sorted_s, CLICK_S),
            _figure(f"{count}: the run's page in the viewer, opened", page_s, PAGE_S),
            _figure(f"{count}: an episode's page, until its plots are shown", episode_s, PAGE_S),
        ],
        [
            f"{sizes.tasks} tasks of {sizes.episodes} episodes; report.html has {size:.1f} MB; the server answers in "
            f"{answer:.2f} s."
        ],
    )


def _figure(name: str, seconds: float, limit: float) -> Figure:
    return Figure(name, f"{seconds:.2f} s", "", f"≤ {limit:g} s", seconds <= limit)


def _change_is_seen(page: Page, run: Path, sizes: Sizes) -> float:
    """Append a record to a run's journal, as a running evaluation does, and wait until the list shows it."""
    row = page.locator("tbody tr", has_text="run_0007")
    page.get_by_role("searchbox").fill("run_0007")
    record = json.loads((run / "episodes.jsonl").read_text().splitlines()[0])
    manifest = json.loads((run / "manifest.json").read_text())
    write_json(run / "manifest.json", {**manifest, "n_episodes": sizes.episodes + 1, "status": "running"})
    row.filter(has_text="running").wait_for()

    def change() -> None:
        line = json.dumps({**record, "index": sizes.episodes, "seed": 1000 + sizes.episodes})
        with (run / "episodes.jsonl").open("a") as file:
            file.write(line + "\n")
        row.filter(has_text=f"/{sizes.tasks * sizes.episodes + 1}").wait_for()

    return _timed(change)


def _make_run(folder: Path, sizes: Sizes, seed: int, played: bool) -> Path:
    """Write a run to disk, as an evaluation would."""
    run, dice = RunFolder(folder), random.Random(seed)
    folder.mkdir(parents=True)
    names = [f"task-{number}-v3" for number in range(sizes.tasks)]
    records = [_record(name, index, dice) for name in names for index in range(sizes.episodes)]
    run.journal.write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    for record in records if played else ():
        rewards = np.linspace(0, 10, record.steps)
        run.save_played(record.key, PlayedEpisode(np.zeros((record.steps, 4), np.float32), rewards, np.zeros(30)))
    run.config.write_text(yaml.safe_dump(CONFIG))
    tasks = [
        {"benchmark": "metaworld", "env": "e", "group": "all", "index": place, "name": name, "instruction": "Do it"}
        | {"max_steps": 500, "fps": 80}
        for place, name in enumerate(names)
    ]
    plan = {"policy": f"policy-{seed % 50}", "seed": 1000, "tasks": names, "env": [{"benchmark": "metaworld"}]}
    started = f"2026-11-{1 + seed % 28:02d}T{seed % 24:02d}:00:00+00:00"
    content = {"plan": plan, "tasks": tasks, "n_episodes": sizes.episodes, "started": started, "status": "finished"}
    write_json(run.manifest, {**content, "wall_s": 60.0, "command": ["yardarm", "eval"], "sessions": []})
    return folder


def _record(task: str, index: int, dice: random.Random) -> EpisodeRecord:
    solved = dice.random() < 0.7
    steps = dice.randrange(40, 200) if solved else 500
    key = EpisodeKey("policy", "metaworld", "e", task, index, 1000 + index)
    return EpisodeRecord(
        key,
        "success" if solved else "failure",
        steps=steps,
        sum_reward=5.0 * steps,
        fingerprints={"0": "0" * 16, str(steps): "1" * 16},
        timing=EpisodeTiming(0.1, 0.05, 0.5, 0.2, 0.1, 1.0),
    )


@contextlib.contextmanager
def _viewer(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "yardarm", "view", str(folder), "--open=false"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split(" at ")[1].split()[0], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def _browser() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        yield page
        browser.close()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def _settled(page: Page) -> None:
    """Wait until the browser has drawn the page."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _fetch(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return bytes(answer.read())


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _second(action: Callable[[], object]) -> float:
    action()
    return _timed(action)


FULL: Measurements = {
    "list": partial(list_of_runs, Sizes(runs=500)),
    "long": partial(list_of_runs, Sizes(runs=2000)),
    "large": partial(large_run, Sizes(tasks=10, episodes=1000)),
}
SMALL: Measurements = {
    "list": partial(list_of_runs, Sizes(runs=100)),
    "large": partial(large_run, Sizes(tasks=5, episodes=100)),
}

if __name__ == "__main__":
    assert __doc__
    run_campaign("The report and the viewer", __doc__, METHOD, FULL, SMALL)
