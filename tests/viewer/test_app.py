"""What the viewer answers, and to whom."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.helpers import wait_until, yardarm_here
from tests.pages.runs import SLOWLY, toy_run
from tests.viewer.served import ask, events, viewing

EPISODE = {"run": "mover", "task": "toy/left", "index": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    toy_run(folder / "mover")
    toy_run(folder / "slowly", SLOWLY)
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with viewing(folder) as address:
        yield address


def test_it_listens_on_this_machine_only(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")


def test_runs_are_listed_with_their_results(address: str, folder: Path) -> None:
    status, answer = ask(address, "/api/runs")
    assert status == 200
    assert answer["folder"] == str(folder)
    assert {line["name"]: line["rate"] for line in answer["runs"]} == {"mover": pytest.approx(7 / 12), "slowly": 0.0}


@pytest.mark.parametrize("run", ["../..", "/etc", "nothing", ""])
@pytest.mark.parametrize("path", ["/api/run", "/api/episode", "/api/compare", "/api/video", "/api/rendering"])
def test_paths_outside_of_the_folder_are_refused(address: str, path: str, run: str) -> None:
    status, answer = ask(address, path, run=run, task="toy/left", index=0, camera="front")
    assert status == 404
    assert answer["problem"]


def test_files_of_the_page_are_served_and_no_others(address: str) -> None:
    with urllib.request.urlopen(f"{address}/web/base.css") as answer:
        assert answer.status == 200
    assert ask(address, "/web/../html.py")[0] == 404
    assert ask(address, "/web/%2e%2e/html.py")[0] == 404


def test_pages_of_others_get_no_answer(address: str) -> None:
    assert ask(address, "/api/runs", {"Host": "evil.example"})[0] == 403
    assert ask(address, "/", {"Host": "evil.example"})[0] == 403
    assert ask(address, "/", {"Host": "[nonsense"})[0] == 403
    assert ask(address, "/api/runs", {"Host": "localhost:1234"})[0] == 200  # a tunnel
    assert ask(address, "/api/runs", {"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert ask(address, "/api/runs", {"Sec-Fetch-Site": "same-origin"})[0] == 200


def test_an_episode_comes_with_what_was_played(address: str) -> None:
    status, answer = ask(address, "/api/episode", **EPISODE)
    assert status == 200
    assert len(answer["actions"]) == 1
    assert len(answer["rewards"]) == len(answer["actions"][0]) == answer["steps"]
    assert answer["cameras"] == ["front", "side"]
    assert answer["ready"] == []
    assert answer["neighbours"]["previous"] is None
    assert answer["neighbours"]["next"] == 1


def test_a_video_is_made_when_it_is_asked_for_and_kept(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "mover", tmp_path / "mover")
    with viewing(tmp_path) as address:
        assert ask(address, "/api/video", **EPISODE, camera="side")[0] == 404
        told = list(events(address, "/api/rendering", **EPISODE, camera="side"))
        assert told[-1]["finished"]
        assert not told[-1]["problem"]
        with urllib.request.urlopen(f"{address}/api/video?{urlencode({**EPISODE, 'camera': 'side'})}") as answer:
            assert answer.headers["Content-Type"] == "video/mp4"
            assert answer.read() == (tmp_path / "mover/videos/toy/left/episode_00000_side.mp4").read_bytes()
        _, episode = ask(address, "/api/episode", **EPISODE)
        assert episode["ready"] == ["side"]
        assert len(episode["states"]["values"]) == 2
        assert episode["diverged_at"] is None
        (again,) = events(address, "/api/rendering", **EPISODE, camera="side")
        assert again["finished"]
        assert "frames" not in again


def test_what_cannot_be_rendered_says_why(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "mover", tmp_path / "mover")
    (tmp_path / "mover/actions/toy/left/00000.npz").write_bytes(b"damaged")
    with viewing(tmp_path) as address:
        status, answer = ask(address, "/api/rendering", **EPISODE, camera="front")
        assert status == 404
        assert "is damaged" in answer["problem"]
        status, answer = ask(address, "/api/episode", **EPISODE)
        assert status == 200
        assert "is damaged" in answer["problem"]
        assert answer["actions"] == []
        status, answer = ask(address, "/api/rendering", **{**EPISODE, "index": 1}, camera="back")
        assert status == 404
        assert "unknown camera 'back'" in answer["problem"]


def test_changes_are_told_as_they_happen(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "mover", tmp_path / "mover")
    with viewing(tmp_path) as address:
        stream = events(address, "/api/events")
        first = next(stream)
        assert first["all"]
        assert [line["name"] for line in first["runs"]["changed"]] == ["mover"]
        shutil.copytree(folder / "slowly", tmp_path / "new")
        told = next(stream)
        assert [line["name"] for line in told["runs"]["changed"]] == ["new"]
        shutil.rmtree(tmp_path / "mover")
        gone: list[str] = []
        wait_until(lambda: gone.extend(next(stream)["runs"]["gone"]) or "mover" in gone)  # type: ignore[func-returns-value]


def test_a_comparison_needs_two(address: str) -> None:
    status, answer = ask(address, "/api/compare")
    assert status == 404
    assert "at least two runs" in answer["problem"]


def test_bad_words_get_one_line(tmp_path: Path) -> None:
    for words, said in {
        ("nowhere",): "there is no folder nowhere",
        (".", "--port=99999"): "--port must be at most 65535",
        (".", "--port=x"): "--port must be a whole number",
        (".", "--prot=1"): "did you mean 'port'",
        (".", "--open=perhaps"): "--open must be true or false",
        (".", "elsewhere"): "takes one folder",
        (".", "--host=no.such.host.example"): "cannot listen on",
    }.items():
        answer = yardarm_here("view", *words)
        assert answer.returncode == 2
        assert said in answer.stderr, answer.stderr
        assert answer.stderr.count("\n") == 1, answer.stderr


def test_a_port_that_is_taken_is_said(address: str, folder: Path) -> None:
    port = address.rpartition(":")[2]
    answer = yardarm_here("view", folder, f"--port={port}")
    assert answer.returncode == 2
    assert f"cannot listen on port {port}" in answer.stderr
