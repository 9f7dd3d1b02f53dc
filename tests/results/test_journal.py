from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.errors import UsageError
from yardarm.results import EpisodeKey, EpisodeRecord, Journal, read_journal
from yardarm.tasks import EpisodeTiming


def record(index: int, status: str = "success", error: str | None = None) -> EpisodeRecord:
    key = EpisodeKey("policy", "benchmark", "env", "task-é", index, 1000 + index)
    return EpisodeRecord(key, status, steps=3, sum_reward=0.1 + index, fingerprints={"0": "ab"}, error=error)  # type: ignore[arg-type]


records = st.builds(
    EpisodeRecord,
    key=st.builds(EpisodeKey, *[st.text(max_size=5)] * 4, st.integers(0, 99), st.integers(0, 2**31)),
    status=st.sampled_from(["success", "failure", "error"]),
    steps=st.integers(0, 500),
    sum_reward=st.floats(allow_nan=False, allow_infinity=False),
    error=st.none() | st.text(),
    timing=st.builds(EpisodeTiming, *[st.integers(0, 10**9).map(lambda microseconds: microseconds / 10**6)] * 6),
)


@given(st.lists(records, max_size=5))
def test_records_are_read_as_they_were_written(written: list[EpisodeRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.jsonl"
        with Journal(path) as journal:
            for item in written:
                journal.append(item)
        assert list(read_journal(path)) == written


@given(cut=st.integers(0, 400))
def test_wherever_a_crash_tears_the_file_whole_lines_survive(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.jsonl"
        with Journal(path) as journal:
            for index in range(3):
                journal.append(record(index))
        content = path.read_bytes()
        torn = content[: max(0, len(content) - cut)]
        path.write_bytes(torn)
        whole = torn.count(b"\n")
        with Journal(path) as journal:
            assert len(journal.records) == whole
            journal.append(record(9))
        assert [item.key.index for item in read_journal(path)] == [*range(whole), 9]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with Journal(path) as journal:
        journal.append(record(0))
        journal.append(record(1))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"rubbish\n" + lines[1])
    with pytest.raises(UsageError, match="is damaged at line 2"):
        Journal(path)


def test_a_later_success_replaces_an_error(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    with Journal(path) as journal:
        journal.append(record(0, "error", "Traceback …"))
        assert not journal.finished()
        journal.append(record(0))
        assert len(journal.finished()) == 1
    with Journal(path) as journal:
        assert [item.status for item in journal.records.values()] == ["success"]


def test_fields_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps({**record(0).to_json(), "invented_later": 1}) + "\n")
    assert list(read_journal(path)) == [record(0)]
