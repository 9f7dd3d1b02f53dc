"""Parts of an evaluation become the evaluation; what is no part of it is refused."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import courses, yardarm, yardarm_here
from yardarm import pages
from yardarm.comparison import compare, read_runs
from yardarm.errors import UsageError
from yardarm.evaluation import merge_runs
from yardarm.evaluation.sharding import merging
from yardarm.pages.run_data import run_data
from yardarm.results import Journal, RunFolder, read_journal, read_result

TOY = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=5", "--eval.videos=1"]
TIMES = ("eval_s", "eval_ep_s")


def play(folder: Path, *flags: str) -> Path:
    words = [word for word in TOY if not any(word.partition("=")[0] == flag.partition("=")[0] for flag in flags)]
    answer = yardarm_here(*words, *flags, f"--output_dir={folder}")
    assert answer.returncode == 0, answer.stderr
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sharded") / "run"
    for number in (1, 2, 3):
        play(folder, f"--shard={number}/3")
    return folder


@pytest.fixture
def shards(played: Path, tmp_path: Path) -> Path:
    """An evaluation in three shards, that a test may change."""
    shutil.copytree(played, tmp_path / "run")
    return tmp_path / "run"


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def files_of_parts(run: Path) -> dict[str, bytes]:
    return {name: content for name, content in files_in(run).items() if name.startswith("shard_")}


def change(folder: Path, content: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    content(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def numbers(folder: Path) -> object:
    info = json.loads((folder / "eval_info.json").read_text().replace(str(folder), "RUN"))
    for name in TIMES:
        info["overall"].pop(name)
    return info


def test_merged_shards_are_the_run_that_was_not_cut(shards: Path, whole: Path) -> None:
    before = files_in(shards)
    answer = yardarm_here("merge", shards)
    assert answer.returncode == 0, answer.stderr
    assert f"Results: {shards}" in answer.stdout
    assert not answer.stderr
    assert courses(shards) == courses(whole)
    assert [record.key for record in read_journal(shards / "episodes.jsonl")] == sorted(courses(whole))
    assert numbers(shards) == numbers(whole)
    for path in (whole / "actions").rglob("*.npz"):
        assert (shards / path.relative_to(whole)).read_bytes() == path.read_bytes()
    assert {path.name for path in (whole / "videos").rglob("*")} == {p.name for p in (shards / "videos").rglob("*")}
    assert files_of_parts(shards) == before, "a part was changed"


def test_a_merged_run_is_a_run_like_any_other(shards: Path, whole: Path) -> None:
    merge_runs([shards])
    stored = read_result(RunFolder(shards))
    assert stored.is_finished
    assert run_data(stored, "run")["status"] == "finished"
    assert "shard 1 of 3" not in (shards / "report.html").read_text()
    (pair,) = compare(read_runs([shards, whole])).pairs
    assert pair.pairs == 10
    replayed = yardarm_here("replay", shards, "--task=left", "--episode=2")
    assert "matches all" in replayed.stdout, replayed.stderr


def test_a_merged_run_is_continued_with_more_episodes(shards: Path) -> None:
    merge_runs([shards])
    before = courses(shards)
    answer = yardarm_here("eval", f"--config_path={shards}/config.yaml", "--eval.n_episodes=6")
    assert "12 episodes, 10 of them already finished" in answer.stdout
    assert before.items() < courses(shards).items()
    merge_runs([shards])
    assert len(courses(shards)) == 12, "merging again keeps what was added"
    assert read_result(RunFolder(shards)).result.planned == 12


def test_the_manifest_says_what_was_merged(shards: Path) -> None:
    merge_runs([shards])
    manifest = json.loads((shards / "manifest.json").read_text())
    parts = manifest["merged_from"]
    assert [part["run"] for part in parts] == ["shard_1_of_3", "shard_2_of_3", "shard_3_of_3"]
    assert [part["shard"] for part in parts] == ["1/3", "2/3", "3/3"]
    assert sum(part["episodes"] for part in parts) == 10
    assert manifest["wall_s"] == pytest.approx(sum(part["wall_s"] for part in parts))
    assert len(manifest["sessions"]) == 3
    assert "shard" not in manifest
    merge_runs([shards])
    again = json.loads((shards / "manifest.json").read_text())
    assert {**again, "updated": ""} == {**manifest, "updated": ""}, "merging again changes nothing"


def test_missing_shards_are_named_and_merged_later(shards: Path, tmp_path: Path) -> None:
    third = shards / "shard_3_of_3"
    (tmp_path / "later").mkdir()
    third.rename(tmp_path / "later" / third.name)
    answer = yardarm_here("merge", shards)
    assert answer.returncode == 1
    assert "of 10 episodes are missing (no shard 3/3)" in answer.stderr
    assert f"yardarm eval --config_path={shards}/config.yaml" in answer.stderr
    assert read_result(RunFolder(shards)).status == "interrupted"
    (tmp_path / "later" / third.name).rename(third)
    assert yardarm_here("merge", shards).returncode == 0
    assert read_result(RunFolder(shards)).is_finished


def test_runs_that_overlap_are_merged_and_duplicates_kept_once(shards: Path, whole: Path, tmp_path: Path) -> None:
    answer = yardarm_here("merge", whole, shards / "shard_2_of_3", f"--output_dir={tmp_path}/both")
    assert answer.returncode == 0, answer.stderr
    assert courses(tmp_path / "both") == courses(whole)
    assert len((tmp_path / "both" / "episodes.jsonl").read_text().splitlines()) == 10


def rewrite(folder: Path, line: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    lines = [json.loads(text) for text in (folder / "episodes.jsonl").read_text().splitlines()]
    (folder / "episodes.jsonl").write_text("".join(json.dumps(line(own)) + "\n" for own in lines))


def test_a_finished_episode_comes_before_an_error(shards: Path, whole: Path, tmp_path: Path) -> None:
    second = shards / "shard_2_of_3"
    rewrite(second, lambda line: {**line, "status": "error", "error": "it broke"})
    answer = yardarm_here("merge", shards)
    assert answer.returncode == 1
    assert "ended in errors" in answer.stderr
    (merged,) = merge_runs([second, whole], tmp_path / "both")
    assert merged.result.counts.errors == 0
    (again,) = merge_runs([whole], shards)
    assert again.result.counts.errors == 0, "an error that is there gives way, too"


def test_duplicates_that_went_differently_are_told_of(shards: Path, whole: Path, tmp_path: Path) -> None:
    rewrite(shards / "shard_3_of_3", lambda line: {**line, "steps": line["steps"] + 1})
    answer = yardarm_here("merge", whole, shards / "shard_3_of_3", f"--output_dir={tmp_path}/both")
    assert answer.returncode == 0
    assert "are in several parts and went differently there, e.g. episode" in answer.stderr
    assert courses(tmp_path / "both") == courses(whole), "the first is kept"
    assert "went differently" in " ".join(json.loads((tmp_path / "both/manifest.json").read_text())["warnings"])


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        (lambda content: content["plan"].update(seed=7), "seed was 1000, is now 7"),
        (lambda content: content["plan"].update(policy="other"), "is now other"),
        (lambda content: content["plan"]["env"][0].update(max_steps=9), "max_steps was 20, is now 9"),
        (
            lambda content: content["plan"].update(tasks=["far/far"]),
            "tasks were left/left, right/right, are now far/far",
        ),
        (lambda content: content["sessions"][-1]["versions"].update(gymnasium="0.1"), "gymnasium was"),
        (lambda content: content.update(method="act"), "method was None, is now act"),
    ],
)
def test_what_is_of_another_evaluation_is_refused(
    difference: Callable[[dict[str, Any]], object], message: str, shards: Path
) -> None:
    change(shards / "shard_2_of_3", difference)
    answer = yardarm_here("merge", shards)
    assert answer.returncode == 2
    assert f"{shards}/shard_1_of_3 and {shards}/shard_2_of_3 do not belong together: " in answer.stderr
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (shards / "manifest.json").exists()


def batching(**changed: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["sessions"][-1].update(
        batching={"exact": True, "device": "cpu", "rows": 4, "threads": 1, **changed}
    )


@pytest.mark.parametrize(
    ("changed", "message"), [({"exact": False}, "exact was True, is now False"), ({"device": "cuda"}, "device was cpu")]
)
def test_batching_of_another_kind_is_refused(changed: dict[str, object], message: str, shards: Path) -> None:
    change(shards / "shard_1_of_3", batching())
    change(shards / "shard_2_of_3", batching(**changed))
    with pytest.raises(UsageError, match=message):
        merge_runs([shards])


def test_what_may_change_the_last_bits_is_told_of(shards: Path) -> None:
    change(shards / "shard_1_of_3", batching())
    change(shards / "shard_2_of_3", batching(rows=8))
    change(shards / "shard_3_of_3", lambda content: content["sessions"][-1]["machine"].update(cpu="another"))
    answer = yardarm_here("merge", shards)
    assert answer.returncode == 0
    assert "made with different rows in a batch (4, 8): last bits may differ" in answer.stderr
    assert "different processors (" in answer.stderr
    assert len(json.loads((shards / "manifest.json").read_text())["warnings"]) == 2


def test_packages_that_the_tasks_do_not_use_may_differ(shards: Path) -> None:
    change(
        shards / "shard_2_of_3", lambda content: content["sessions"][-1]["versions"].update(pymunk="0.1", rich="1.0")
    )
    assert yardarm_here("merge", shards).returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "needs the folder of an evaluation's shards, or runs"),
        (["nowhere"], "there is no run nowhere"),
        (["{tmp}"], "is neither a run nor a folder of shards"),
        (["{whole}"], "--output_dir is missing"),
        (["{run}/shard_1_of_3", "{run}/shard_2_of_3"], "--output_dir is missing"),
        (["{whole}", "--output_dir={run}/shard_1_of_3"], "holds shard 1/3; choose another --output_dir"),
        (["{whole}", "--output_dir={whole}/episodes.jsonl"], "cannot be copied or written: File exists"),
        (["{whole}", "--output=there"], "unknown option '--output'"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    words: list[str], message: str, played: Path, whole: Path, tmp_path: Path
) -> None:
    given = [word.format(run=played, whole=whole, tmp=tmp_path) for word in words] or ["--output_dir=x"]
    answer = yardarm_here("merge", *given)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_run_that_is_being_written_is_refused(shards: Path) -> None:
    with Journal(shards / "shard_2_of_3" / "episodes.jsonl"), pytest.raises(UsageError, match="is being written"):
        merge_runs([shards])
    merge_runs([shards])


def test_an_output_that_holds_something_else_is_refused(shards: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "eval_info.json").write_text("{}")
    with pytest.raises(UsageError, match="holds results of something else"):
        merge_runs([shards], tmp_path / "other")
    other = play(tmp_path / "another", "--seed=7", "--eval.videos=0")
    with pytest.raises(UsageError, match="seed was 7, is now 1000"):
        merge_runs([shards], other)


def test_a_run_that_may_stop_early_is_refused(tmp_path: Path) -> None:
    run = play(tmp_path / "run", "--eval.stop=precision", "--eval.videos=0")
    with pytest.raises(UsageError, match="may stop early"):
        merge_runs([run], tmp_path / "merged")


def interrupted_at(writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the merge die before one of its writes."""
    left = iter(range(writes))

    def counting(write: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: Any) -> object:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return write(*arguments)

        return wrapped

    for module, name in (
        *((merging, name) for name in ("write_config_file", "write_json", "_copy")),
        (pages, "write_report"),
    ):
        monkeypatch.setattr(module, name, counting(getattr(module, name)))
    monkeypatch.setattr(Journal, "extend", counting(Journal.extend))


def test_a_merge_that_was_killed_before_any_of_its_writes_comes_to_the_same(
    shards: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of_parts(shards)
    for writes in itertools.count():
        with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
            interrupted_at(writes, patched)
            merge_runs([shards])
            break
        merge_runs([shards])
        assert courses(shards) == courses(whole)
        assert numbers(shards) == numbers(whole)
        assert read_result(RunFolder(shards)).is_finished
        for path in shards.iterdir():
            if not path.name.startswith("shard_"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert files_in(shards) == before
    assert writes >= 2 + 10 + 2 + 4, "configuration, manifest; actions; videos; journal, manifest, summary, report"


def test_a_torn_journal_is_completed(shards: Path, whole: Path) -> None:
    merge_runs([shards])
    expected = (shards / "episodes.jsonl").read_bytes()
    (shards / "episodes.jsonl").write_bytes(expected[: len(expected) // 2])
    merge_runs([shards])
    assert (shards / "episodes.jsonl").read_bytes() == expected
    assert numbers(shards) == numbers(whole)


def test_a_full_disk_is_one_line_and_harms_no_part(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of_parts(shards)

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    with monkeypatch.context() as patched:
        patched.setattr(merging, "_copy", full)
        answer = yardarm_here("merge", shards)
    assert answer.returncode == 2
    assert "cannot be copied or written: No space left on device; no part was changed" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert files_of_parts(shards) == before
    assert yardarm_here("merge", shards).returncode == 0


def test_lost_actions_cost_no_result_and_are_told_of(shards: Path, whole: Path) -> None:
    shutil.rmtree(shards / "shard_2_of_3" / "actions")
    answer = yardarm_here("merge", shards)
    assert answer.returncode == 0
    assert "so they cannot be replayed" in answer.stderr
    assert courses(shards) == courses(whole)


def test_the_command_explains_itself() -> None:
    assert "usage: yardarm merge RUN …" in yardarm("merge", "--help").stdout
