"""A folder of runs as a workspace: what belongs together, labels, filters, the trash, and what can be cleaned up."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pages.trainings import usual_points, with_evaluation, write_training
from tests.report.runs import tasks_of, written
from yardarm.errors import UsageError
from yardarm.results import Labels, PlanRecord, PolicyEntry, SeveralFolder, read_labels, write_labels
from yardarm.workspace import Filters, LabelChange, Workspace, find_leftovers

TASKS = tasks_of({"reach-v3": "ssf"})


def write_several(path: Path, outcomes: dict[str, str]) -> None:
    """An evaluation of several policies."""
    folder = SeveralFolder(path)
    for name, letters in outcomes.items():
        written(folder.run(name).path, tasks_of({"reach-v3": letters}))
    plan = PlanRecord(policy=None, seed=1, tasks=("medium/reach-v3",), env=({"benchmark": "metaworld"},))
    folder.write_index(plan, [PolicyEntry(name, name, name) for name in outcomes])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One of each: a run, a duel, an evaluation of several policies, a training, a recording's run."""
    root = tmp_path / "outputs"
    written(root / "eval/2026-11-12/first", TASKS)
    written(root / "eval/2026-11-13/duel", TASKS)
    written(root / "eval/2026-11-13/duel/against", TASKS)
    written(root / "eval/2026-11-13/recorded", TASKS, command=["yardarm", "record"])
    write_several(root / "study/chunks", {"chunk_8": "sssf", "chunk_16": "ssff"})
    act = root / "train/act"
    write_training(act, [*usual_points(1000), *with_evaluation(act, 500, {"reach-v3": "sf"})], steps=1000, step=1000)
    return root


def tree(root: Path) -> dict[str, bytes | None]:
    """All files and folders with their content, but for the trash."""
    found = [path for path in root.rglob("*") if ".trash" not in path.parts]
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in found}


def test_everything_knows_where_it_belongs(root: Path) -> None:
    lines = Workspace(root).by_name()
    assert {name: (line["kind"], line["project"], line["within"]) for name, line in lines.items()} == {
        "eval/2026-11-12/first": ("run", "eval", None),
        "eval/2026-11-13/duel": ("run", "eval", None),
        "eval/2026-11-13/duel/against": ("run", "eval/duel", "eval/2026-11-13/duel"),
        "eval/2026-11-13/recorded": ("run", "eval", None),
        "study/chunks": ("several", "study", None),
        "study/chunks/policies/chunk_8": ("run", "study/chunks/policies", "study/chunks"),
        "study/chunks/policies/chunk_16": ("run", "study/chunks/policies", "study/chunks"),
        "train/act": ("training", "train", None),
        "train/act/eval/step_000500": ("run", "train/act/eval", "train/act"),
    }
    assert [name for name, line in lines.items() if line.get("recording")] == ["eval/2026-11-13/recorded"]
    assert (lines["study/chunks"]["status"], lines["study/chunks"]["policies"]) == ("finished", ["chunk_8", "chunk_16"])


def test_a_line_read_on_its_own_is_the_same_as_in_the_list(root: Path) -> None:
    name = "eval/2026-11-13/duel/against"
    assert Workspace(root).runs.line(name) == Workspace(root).by_name()[name]


def test_datasets_are_not_searched(root: Path) -> None:
    (root / "data/meta").mkdir(parents=True)
    (root / "data/meta/info.json").write_text("{}")
    written(root / "data/videos/odd", TASKS)
    assert not [name for name in Workspace(root).by_name() if name.startswith("data")]


def test_labels_of_several_are_changed_at_once_or_not_at_all(root: Path) -> None:
    workspace = Workspace(root)
    names = ["eval/2026-11-12/first", "study/chunks", "train/act"]
    workspace.label(names, LabelChange(add=("paper", "old")))
    workspace.label(names[:1], LabelChange(name="First ", remove=("old",), note="one\r\ntwo\n"))
    assert read_labels(root / names[0]) == Labels("First", ("paper",), "one\ntwo")
    assert workspace.by_name()["train/act"]["labels"]["tags"] == ["paper", "old"]
    with pytest.raises(UsageError, match="there is no run, training or evaluation 'nothing'"):
        workspace.label([names[0], "nothing"], LabelChange(hidden=True))
    with pytest.raises(UsageError, match="outside the viewed folder"):
        workspace.label(["../else"], LabelChange(hidden=True))
    assert not read_labels(root / names[0]).hidden


def test_damaged_labels_hide_nothing(root: Path) -> None:
    (root / "eval/2026-11-12/first/labels.json").write_text("{")
    line = Workspace(root).by_name()["eval/2026-11-12/first"]
    assert (line["status"], line["title"], "is damaged" in line["labels_problem"]) == ("finished", "first", True)


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (Filters(search="CHUNK finished"), ["study/chunks", "study/chunks/policies/chunk_16"]),
        (Filters(tag="paper"), ["study/chunks"]),
        (Filters(policy="DUEL"), ["eval/2026-11-13/duel"]),
        (Filters(status="running"), []),
        (Filters(benchmark="libero"), []),
        (Filters(search="first", hidden=True), ["eval/2026-11-12/first"]),
    ],
)
def test_filters_choose(root: Path, filters: Filters, names: list[str]) -> None:
    workspace = Workspace(root)
    workspace.label(["eval/2026-11-12/first", "study/chunks/policies/chunk_8"], LabelChange(hidden=True))
    workspace.label(["study/chunks"], LabelChange(add=("paper",)))
    assert sorted(line["name"] for line in filters.chosen(workspace.by_name().values())) == names


def test_what_lies_in_something_hidden_is_hidden(root: Path) -> None:
    workspace = Workspace(root)
    workspace.label(["train/act"], LabelChange(hidden=True))
    assert Filters(search="train/act").chosen(workspace.by_name().values()) == []


@pytest.mark.parametrize("name", ["eval/2026-11-12/first", "eval/2026-11-13/duel", "study/chunks", "train/act"])
def test_what_is_deleted_can_be_put_back_as_it_was(root: Path, name: str) -> None:
    before = tree(root)
    workspace = Workspace(root)
    (trashed,) = workspace.delete([name])
    assert not [own for own in workspace.by_name() if own.startswith(name)]
    assert [own.id for own in workspace.trash.folders()] == [trashed.id]
    workspace.trash.restore(workspace.trash.find(trashed.id))
    assert tree(root) == before
    assert not (root / ".trash").exists()


NAMES = st.text(st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="/."), min_size=1, max_size=20)


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, min_size=1, max_size=4), st.randoms())
def test_deleting_and_restoring_in_any_order_changes_nothing(places: list[tuple[str, str]], random: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for day, name in places:
            written(root / day / "x" / name, TASKS)
            (root / day / "x" / name / "link").symlink_to("manifest.json")
        before = tree(root)
        workspace = Workspace(root)
        names = list(workspace.by_name())
        trashed = workspace.delete(names)
        random.shuffle(trashed)  # type: ignore[attr-defined]
        for own in trashed:
            workspace.trash.restore(workspace.trash.find(own.id))
        assert tree(root) == before


def test_a_place_that_is_taken_refuses_what_was_there(root: Path) -> None:
    workspace = Workspace(root)
    (trashed,) = workspace.delete(["eval/2026-11-12/first"])
    written(root / "eval/2026-11-12/first", TASKS)
    with pytest.raises(UsageError, match="exists again"):
        workspace.trash.restore(trashed)
    assert trashed.content.is_dir()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("eval/2026-11-13/duel/against", "is the opponent in 'eval/2026-11-13/duel': delete that as a whole"),
        ("study/chunks/policies/chunk_8", "is one of the policies of 'study/chunks'"),
        ("train/act/eval/step_000500", "is an evaluation of 'train/act'"),
        (".", "there is no run"),
        ("../elsewhere", "there is no run"),
        ("eval", "there is no run"),
        ("link", "there is no run"),
    ],
)
def test_what_cannot_be_deleted_says_why(root: Path, name: str, reason: str) -> None:
    written(root.parent / "elsewhere", TASKS)
    (root / "link").symlink_to(root.parent / "elsewhere")
    before = tree(root)
    with pytest.raises(UsageError, match=reason):
        Workspace(root).delete(["eval/2026-11-12/first", name])
    assert tree(root) == before


def test_a_run_that_is_viewed_alone_is_not_deleted(root: Path) -> None:
    with pytest.raises(UsageError, match="the viewed folder itself cannot be deleted"):
        Workspace(root / "eval/2026-11-12/first").delete(["."])


@pytest.fixture
def running(root: Path) -> Iterator[str]:
    """A run that a process plays: its journal is locked, and was written long ago."""
    run = written(root / "eval/running", TASKS, n_episodes=9, status="running")
    for file in ("episodes.jsonl", "manifest.json"):
        os.utime(run / file, (0, 0))
    with (run / "episodes.jsonl").open("ab") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        yield "eval/running"


def test_what_is_running_is_never_deleted(root: Path, running: str) -> None:
    with pytest.raises(UsageError, match="'eval/running' is running; stop it first"):
        Workspace(root).delete([running])
    assert (root / running).is_dir()


def test_a_deletion_says_what_goes_and_who_will_miss_it(root: Path) -> None:
    (root / "train/act/checkpoints/000500").mkdir(parents=True)
    (root / "train/act/checkpoints/last").symlink_to("000500")
    policy = {"path": str(root / "train/act/checkpoints/000500/pretrained_model")}
    written(root / "eval/of_checkpoint", TASKS, described=policy)
    plan = Workspace(root).plan_deletion(["train/act", "train/act"])
    assert (plan.names, plan.runs, plan.checkpoints) == (("train/act",), 1, 1)
    assert plan.size > 1000
    assert [warning.split(":")[0] for warning in plan.warnings] == ["eval/of_checkpoint"]


def test_an_emptied_trash_is_gone_and_links_are_not_followed(root: Path) -> None:
    precious = root.parent / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    (root / "study/chunks/link").symlink_to(precious)
    workspace = Workspace(root)
    workspace.delete(["study/chunks", "eval/2026-11-12/first"])
    assert workspace.trash.empty() > 1000
    assert not (root / ".trash").exists()
    assert (precious / "file").read_text() == "mine"


def test_the_trash_of_an_inner_folder_is_found_from_outside(root: Path) -> None:
    Workspace(root / "eval").delete(["2026-11-12/first"])
    (trashed,) = Workspace(root).trash.folders()
    assert trashed.id.startswith("eval/.trash/")
    assert Workspace(root).trash.restore(trashed) == (root / "eval/2026-11-12/first").resolve()


@pytest.mark.parametrize("place", ["/etc/x", "../x", "", ".", "a/../../x"])
def test_a_forged_entry_of_the_trash_is_left_alone(root: Path, place: str) -> None:
    workspace = Workspace(root)
    (trashed,) = workspace.delete(["eval/2026-11-12/first"])
    record = trashed.entry / "trashed.json"
    record.write_text(record.read_text().replace("eval/2026-11-12/first", place))
    assert workspace.trash.folders() == []


def test_leftovers_are_found_and_nothing_else(root: Path, running: str) -> None:
    begun = written(root / "eval/never", TASKS, status="interrupted")
    (begun / "episodes.jsonl").write_text("")
    old = written(root / "eval/old", TASKS, n_episodes=9, status="interrupted")
    os.utime(old / "episodes.jsonl", (0, 0))
    written(root / "eval/recent", TASKS, n_episodes=9, status="interrupted")
    (root / "eval/killed").mkdir()
    (root / "eval/killed/episodes.jsonl").touch()
    os.utime(root / "eval/killed/episodes.jsonl", (0, 0))
    write_labels(root / "eval/killed", Labels(name="gone"))
    found = {own.name: own.reason for own in find_leftovers(Workspace(root))}
    assert found.pop("eval/old").startswith("unfinished for ")
    assert found == {"eval/never": "never finished an episode", "eval/killed": "never became a run"}
    assert "eval/recent" in {own.name for own in find_leftovers(Workspace(root), old_days=-1)}
