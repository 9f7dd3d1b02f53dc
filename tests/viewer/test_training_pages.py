"""Trainings as the viewer serves them, and in a real browser: from the list to the learning curve to an evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page
from tests.pages.trainings import (
    append_points,
    checkpoint_point,
    evaluation_point,
    train_point,
    usual_points,
    with_evaluation,
    write_training,
)
from tests.report.runs import tasks_of, written
from tests.viewer.served import ask, events, viewing

TASKS = {500: {"reach-v3": "sfff", "push-v3": "ffff"}, 1000: {"reach-v3": "ssss", "push-v3": "ssff"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A training with two evaluations, a third one that is going on, and a damaged training."""
    act = tmp_path / "day/act"
    evaluated = [point for step, outcomes in TASKS.items() for point in with_evaluation(act, step, outcomes)]
    written(act / "eval/step_001200", tasks_of({"reach-v3": "sf"}), n_episodes=4, status="running")
    going_on = [checkpoint_point(1200), evaluation_point(1200, {}, "running")]
    write_training(act, [*usual_points(1200), *evaluated, *going_on], steps=2000, step=1200, status="running")
    write_training(tmp_path / "torn", [])
    (tmp_path / "torn/training.json").write_text("{")
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with viewing(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


def test_pages_are_told_of_every_point(address: str, folder: Path) -> None:
    _, everything = ask(address, "/api/runs")
    assert {line["name"]: line["status"] for line in everything["trainings"]} == {
        "day/act": "running",
        "torn": "damaged",
    }
    assert len(everything["runs"]) == 3
    status, refused = ask(address, "/api/training", training="torn")
    assert (status, "training.json" in refused["problem"]) == (404, True)

    stream = events(address, "/api/events", training="day/act")
    first = next(stream)
    assert [line["step"] for line in first["trainings"]["changed"]] == [1200]
    assert [line["name"] for line in first["runs"]["changed"]] == ["day/act/eval/step_001200"]
    append_points(folder / "day/act", [train_point(1300, 0.07)])
    assert [line["loss"] for line in next(stream)["trainings"]["changed"]] == [0.07]
    journal = folder / "day/act/eval/step_001200/episodes.jsonl"
    record = json.loads(journal.read_text().splitlines()[0])
    with journal.open("a") as file:
        file.write(json.dumps({**record, "index": 2, "seed": 1002}) + "\n")
    assert [line["episodes"] for line in next(stream)["runs"]["changed"]] == [3]


@needs_browser
def test_from_the_list_to_a_live_curve_to_an_evaluation_and_back(browser: Browser, address: str, folder: Path) -> None:
    with open_page(browser) as page:
        page.goto(address)
        rows = page.get_by_role("region", name="Runs and trainings").locator("tbody tr")
        expect(rows.filter(has_text="3 evaluations inside")).to_have_count(1)
        expect(rows.filter(has_text="torn")).to_contain_text("training.json is damaged")
        expect(rows.filter(has_text="act")).to_contain_text("1,200/2,000")
        page.get_by_role("link", name="day/act", exact=True).click()

        expect(page.locator("h1")).to_have_text("day/act running")
        expect(page.locator("#headline")).to_contain_text("6 of 8 episodes solved at step 1,000")
        expect(page.locator(".underway")).to_contain_text("step 1,200, 2 of 4 episodes done")
        expect(page.locator("#success .mark")).to_have_count(2)
        expect(page.locator("#success .key")).to_have_text(["reach-v3", "push-v3", "all tasks"])
        expect(page.locator("#saved tbody th")).to_have_text(["1,200", "1,000", "500"])
        page.get_by_role("button", name="Scale: linear").click()
        page.get_by_role("button", name="push-v3").click()

        append_points(folder / "day/act", [train_point(1300, 0.0625), evaluation_point(1200, TASKS[1000])])
        expect(page.locator("#success .mark")).to_have_count(3)
        expect(page.locator(".underway")).to_have_count(0)
        expect(page.locator("#headline")).to_contain_text("0.0625")
        expect(page.get_by_role("button", name="Scale: linear")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#success .set-off")).to_have_count(1)  # what the reader chose stays
        page.locator("#loss .ground").hover(position={"x": 1, "y": 20})
        expect(page.locator("#loss .tip")).to_contain_text("step 100training 1.608")

        page.locator("#success .mark").nth(1).click()
        expect(page.locator("h1")).to_have_text("act step_001000 finished")
        expect(page.locator(".under-title")).to_contain_text("day/act/eval/step_001000")
        page.get_by_role("link", name="Training").click()
        expect(page.locator("h1")).to_have_text("day/act running")


@needs_browser
def test_the_page_fits_in_any_width_and_light(browser: Browser, address: str) -> None:
    for width, scheme in ((1200, "light"), (360, "dark")):
        with open_page(browser, width, scheme) as page:
            page.goto(f"{address}/training?training=day/act")
            expect(page.locator("#loss svg")).to_be_visible()
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            assert not [text for text in page.evaluate(CONTRASTS) if text["ratio"] < 4.5]
