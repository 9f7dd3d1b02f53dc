"""Finished episodes are on the disk before they count, however many finish at once."""

from __future__ import annotations

import select
from pathlib import Path

import numpy as np
import pytest

from tests.results.test_journal import record
from yardarm.results import (
    EpisodeWriter,
    FinishedEpisode,
    Journal,
    PlayedEpisode,
    RunFolder,
    episode_writer,
    read_journal,
)

PLAYED = PlayedEpisode(np.zeros((3, 1), np.float32), np.arange(3.0), np.zeros(2), 0.5)


def test_what_is_collected_is_on_the_disk_and_none_is_lost(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    writer = EpisodeWriter()
    collected: list[int] = []
    with Journal(folder.journal) as journal:
        for index in range(50):
            status = "error" if index % 7 == 0 else "success"
            played = None if status == "error" else PLAYED
            writer.put(FinishedEpisode(record(index, status), played, folder, journal, owner=index))
            for kept in writer.collect():
                collected.append(kept.owner)
                assert kept.record in list(read_journal(folder.journal))
                if kept.played is not None:
                    assert folder.load_played(kept.record.key).travel == 0.5
        collected += [kept.owner for kept in writer.close()]
    assert collected == list(range(50))
    assert len(list(read_journal(folder.journal))) == 50


def test_a_bell_rings_when_there_is_something_to_collect(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    writer = EpisodeWriter()
    with Journal(folder.journal) as journal:
        assert select.select([writer.descriptor], [], [], 0)[0] == []
        writer.put(FinishedEpisode(record(0), PLAYED, folder, journal))
        assert select.select([writer.descriptor], [], [], 30)[0] == [writer.descriptor]
        assert [kept.record for kept in writer.collect()] == [record(0)]
        assert select.select([writer.descriptor], [], [], 0)[0] == []
        assert writer.close() == []


def test_a_disk_that_fails_is_told_of(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    writer = EpisodeWriter()
    with Journal(folder.journal) as journal:
        (folder.path / "actions").write_text("in the way")
        writer.put(FinishedEpisode(record(0), PLAYED, folder, journal))
        assert writer.close() == []
        with pytest.raises(OSError, match="actions"):
            writer.check()
    assert list(read_journal(folder.journal)) == [], "an episode whose actions are lost does not count"


def test_what_comes_in_a_rush_is_written_as_one_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_writer, "GROUP_EVERY_S", 60.0)
    groups: list[int] = []
    monkeypatch.setattr(episode_writer, "write_group", lambda group, threads: groups.append(len(group)))
    folder = RunFolder(tmp_path)
    writer = EpisodeWriter()
    with Journal(folder.journal) as journal:
        writer.put(FinishedEpisode(record(0), PLAYED, folder, journal))
        assert select.select([writer.descriptor], [], [], 30)[0], "the first waits for nobody"
        for index in range(1, 6):
            writer.put(FinishedEpisode(record(index), PLAYED, folder, journal))
        assert len(writer.close()) == 6, "and the end does not wait for the next group's time"
    assert groups == [1, 5]
