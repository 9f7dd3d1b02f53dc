"""``yardarm runs`` as a user types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import yardarm_here
from tests.report.runs import tasks_of, written
from tests.workspace.test_workspace import write_several
from yardarm.cli.commands.runs import COMMANDS
from yardarm.results import read_labels


@pytest.fixture
def outputs() -> Path:
    """Three runs, one of them with an opponent, and an evaluation of two policies, in the usual folder."""
    root = Path("outputs")
    written(root / "eval/2026-11-12/first", tasks_of({"reach-v3": "ssf"}), started="2026-11-12T09:00:00+00:00")
    written(root / "eval/2026-11-13/duel", tasks_of({"push-v3": "fff"}), started="2026-11-13T09:00:00+00:00")
    written(root / "eval/2026-11-13/duel/against", tasks_of({"push-v3": "sff"}))
    written(root / "eval/stopped", tasks_of({"reach-v3": "s"}), n_episodes=9, status="interrupted")
    write_several(root / "study/chunks", {"chunk_8": "sssf", "chunk_16": "ssff"})
    return root


def said(*words: object) -> str:
    answer = yardarm_here("runs", *words)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


def refused(*words: object) -> str:
    answer = yardarm_here("runs", *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1
    return answer.stderr


def names(*words: object) -> list[str]:
    return sorted(line["name"] for line in json.loads(said(*words, "--json")))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    text = said(name, "--help")
    assert "usage: yardarm runs" in text
    assert name in said("--help")


@pytest.mark.usefixtures("outputs")
def test_the_list_shows_runs_newest_first_and_what_lies_in_them() -> None:
    lines = said().splitlines()
    assert lines[0].split() == ["run", "status", "policy", "tasks", "success", "started", "size", "tags"]
    shown = [line.split("  ")[0] or line.split()[0] for line in lines[1:-2]]
    assert shown.index("against") == shown.index("eval/2026-11-13/duel") + 1
    assert shown[-1] == "eval/2026-11-12/first"
    first = next(line for line in lines if "first" in line)
    assert "66.7% [20.8 – 93.9] 2/3" in first
    assert "2026-11-12" in first
    assert "interrupted 1/9" in said()
    assert lines[-1] == f"7 in {Path('outputs').resolve()}"


@pytest.mark.usefixtures("outputs")
def test_the_list_is_filtered() -> None:
    assert names("--status=interrupted") == ["eval/stopped"]
    assert names("outputs/study", "--search=chunk_8") == ["chunks", "chunks/policies/chunk_8"]
    said("tag", "outputs/eval/stopped", "eval/2026-11-12/first", "--add=paper, old", "--remove=new")
    said("hide", "first")
    assert names("--tag=paper") == ["eval/stopped"]
    assert names("--tag=paper", "--hidden") == ["eval/2026-11-12/first", "eval/stopped"]
    assert "no match among 7 runs" in said("--policy=nobody")
    assert "1 in " in said("--tag=paper")
    said("unhide", "first")
    assert len(names("--tag=paper")) == 2


def test_labels_are_written_and_read(outputs: Path) -> None:
    assert said("tag", "first", "--add=paper,old") == "eval/2026-11-12/first: paper, old\n"
    assert said("tag", "first", "--remove=paper,old") == "eval/2026-11-12/first: no tags\n"
    said("rename", "first", "--name=Second try")
    said("note", "Second try", "--text=Look at seed 3.")
    assert said("note", "first") == "Look at seed 3.\n"
    assert "“Second try”" in said()
    labels = read_labels(outputs / "eval/2026-11-12/first")
    assert (labels.name, labels.note) == ("Second try", "Look at seed 3.")


def test_what_is_deleted_is_put_back_or_gone_for_good(outputs: Path) -> None:
    text = said("delete", "stopped", "outputs/study/chunks")
    assert "undo with: yardarm runs restore eval/stopped study/chunks" in text
    assert not (outputs / "eval/stopped").exists()
    assert "was eval/stopped" in said("trash")
    assert "put back" in said("restore", "eval/stopped")
    assert (outputs / "eval/stopped/manifest.json").exists()
    assert "nothing was deleted; add --yes" in yardarm_here("runs", "empty-trash").stderr
    assert "freed " in said("empty-trash", "--yes")
    assert said("trash") == "the trash is empty\n"


@pytest.mark.usefixtures("outputs")
def test_on_a_terminal_emptying_the_trash_asks() -> None:
    said("delete", "stopped")
    for answer, code in (("no\n", 2), ("yes\n", 0)):
        ours, theirs = pty.openpty()
        words = [sys.executable, "-m", "yardarm", "runs", "empty-trash"]
        os.write(ours, answer.encode())
        done = subprocess.run(words, stdin=theirs, capture_output=True, text=True, timeout=60)
        assert (done.returncode, "Delete 1 folder(s)" in done.stdout) == (code, True)
        os.close(ours)
        os.close(theirs)
    assert said("trash") == "the trash is empty\n"


def test_clean_shows_what_it_would_do_and_does_it_when_told(outputs: Path) -> None:
    (outputs / "eval/stopped/episodes.jsonl").write_text("")
    assert "eval/stopped: never finished an episode" in said("clean")
    assert (outputs / "eval/stopped").is_dir()
    assert "moved 1 to the trash" in said("clean", "--yes")
    assert not (outputs / "eval/stopped").exists()
    assert said("clean") == "nothing to clean up\n"


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["delte"], "'delte' is neither a folder nor a command; did you mean 'delete'?"),
        (["nowhere"], "'nowhere' is neither a folder nor a command"),
        (["--stats=finished"], "unknown option '--stats'; did you mean 'status'?"),
        (["--status=done"], "--status must be one of running, finished, interrupted"),
        (["tag", "first"], "no tags are given"),
        (["tag", "first", "--add=" + "x" * 50], "a tag has 1 to 40 characters"),
        (["tag", "--add=x"], "yardarm runs tag needs a run"),
        (["delete", "frist"], "there is no run, training or evaluation 'frist'"),
        (["delete", "eval/2026-11-13/duel/against"], "is the opponent in 'eval/2026-11-13/duel'"),
        (["delete", "elsewhere/run"], "elsewhere/run is not inside"),
        (["rename", "first"], "--name is missing"),
        (["rename", "first", "--name"], "--name"),
        (["--tag"], "--tag"),
        (["restore", "first"], "'first' is not in the trash"),
        (["trash", "first"], "takes flags only, not 'first'"),
        (["clean", "--older_than=soon"], "--older_than must be a number"),
        (["hide", "first", "--dir=nowhere"], "there is no folder nowhere"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value)[:30],
)
def test_mistakes_are_answered_in_one_line(words: list[str], message: str) -> None:
    written(Path("elsewhere/run"), tasks_of({"reach-v3": "s"}))
    assert message in refused(*words)


def test_without_a_folder_of_runs_it_says_how_to_name_one() -> None:
    assert "there is no folder outputs; name the folder of your runs: `yardarm runs DIR`" in refused()
