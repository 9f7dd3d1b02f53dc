"""Checks of recordings: good ones raise nothing, and each fault is found, in the right place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets import demonstrations as made
from tests.datasets.demonstrations import CAMERA, FPS, Demonstration, demonstration, record
from tests.datasets.frames_of import snapshot
from tests.helpers import yardarm
from yardarm.datasets import DatasetMetadata, read_metadata
from yardarm.datasets.quality import CHECKS, NOTE, PROBLEM, WARNING, CheckReport, Finding, check_dataset, look_over

COUNT = 20


def checked(root: Path) -> CheckReport:
    return check_dataset(read_metadata(root))


def only_finding(report: CheckReport) -> Finding:
    assert len(report.findings) == 1, [str(finding) for finding in report.findings]
    return report.findings[0]


def test_good_demonstrations_raise_nothing() -> None:
    report = checked(record(Path("good"), COUNT))
    assert not report.findings, [str(finding) for finding in report.findings]
    assert report.summary() == "nothing suspicious in 20 episodes"


def test_good_pictures_raise_nothing_and_a_check_changes_nothing() -> None:
    before = snapshot(record(Path("good"), 6, with_pictures=True))
    report = checked(Path("good"))
    assert not report.findings, [str(finding) for finding in report.findings]
    assert report.cameras == [CAMERA]
    assert snapshot(Path("good")) == before


def test_an_episode_that_ends_idle_says_which_frames_to_keep() -> None:
    finding = only_finding(checked(record(Path("own"), COUNT, {3: made.still_at_the_end})))
    length = read_metadata(Path("own")).episodes[3].length
    assert (finding.check, finding.severity, finding.episode) == ("idle", WARNING, 3)
    assert finding.keep is not None
    assert finding.frames is not None
    assert 0 <= finding.frames.start - (length - 43) <= 3 or finding.frames.start < length - 40
    assert finding.keep == range(finding.frames.start)
    assert str(finding).startswith(f"episode 3: nothing moves for the last {len(finding.frames)} of {length} frames (")


def test_an_episode_that_starts_idle_and_one_that_never_moves() -> None:
    def backwards(own: Demonstration) -> Demonstration:
        late = made.still_at_the_end(own)
        return replace(late, state=late.state[::-1], action=late.action[::-1])

    def stands(own: Demonstration) -> Demonstration:
        return replace(own, state=own.state[:1].repeat(80, axis=0), action=own.action[:1].repeat(80, axis=0))

    findings = {own.episode: own for own in checked(record(Path("own"), COUNT, {2: backwards, 5: stands})).findings}
    assert findings[2].message.startswith("nothing moves for the first ")
    assert findings[5].message == "nothing moves in the whole episode"


def test_a_glitch_is_a_jump_at_its_frame() -> None:
    report = checked(record(Path("own"), COUNT, {7: made.jumping}))
    finding = report.by_check["jumps"][0]
    assert (finding.episode, finding.feature, finding.severity) == (7, "observation.state", WARNING)
    assert finding.frames in (range(50, 51), range(51, 52))
    assert "observation.state shoulder_pan.pos jumps from " in finding.message
    assert set(report.by_check) == {"jumps"}


def test_a_glitch_is_found_among_three_episodes() -> None:
    assert set(checked(record(Path("own"), 3, {1: made.jumping})).by_check) == {"jumps"}


def test_an_angle_that_turns_over_is_no_jump() -> None:
    def turned(own: Demonstration) -> Demonstration:
        state = own.state.copy()
        state[50:, 0] += 360
        return replace(own, state=state)

    assert "jumps" not in checked(record(Path("own"), COUNT, {1: turned})).by_check


def test_missing_values_are_a_problem() -> None:
    finding = only_finding(checked(record(Path("own"), COUNT, {4: made.broken})))
    assert (finding.check, finding.severity, finding.episode) == ("not_numbers", PROBLEM, 4)
    assert finding.frames == range(20, 23)
    assert finding.message == (
        "observation.state shoulder_lift.pos is not a number (NaN or infinite) in 3 frames, the first is frame 20"
    )


def test_copies_are_found_exact_or_nearly() -> None:
    first = demonstration(0)

    def noisy(own: Demonstration) -> Demonstration:
        return replace(first, state=first.state + np.float32(0.01))

    findings = checked(record(Path("own"), COUNT, {9: lambda own: first, 13: noisy})).findings
    assert [str(finding) for finding in findings] == [
        "episode 9: has the same states and actions as episode 0",
        "episode 13: has nearly the same states and actions as episode 0",
    ]


def test_values_far_from_all_others_are_outliers() -> None:
    report = checked(record(Path("own"), COUNT, {6: made.far_off}))
    finding = report.by_check["outliers"][0]
    assert (finding.episode, finding.feature) == (6, "observation.state")
    assert "shoulder_lift.pos reaches 9" in finding.message
    assert {own.episode for own in report.findings} == {6}


def test_unusual_lengths_are_found() -> None:
    def long(own: Demonstration) -> Demonstration:
        places = np.linspace(0, len(own.state) - 1, 600).astype(int)
        return replace(own, state=own.state[places], action=own.action[places])

    def short(own: Demonstration) -> Demonstration:
        return replace(own, state=own.state[:3], action=own.action[:3])

    findings = checked(record(Path("own"), COUNT, {1: long, 2: short})).by_check["lengths"]
    assert str(findings[0]).startswith("episode 1: is long: 600 frames, where the median of its task is ")
    assert str(findings[1]) == "episode 2: has only 3 frames"


def test_an_episode_of_another_task_is_unlike_the_others() -> None:
    def other(own: Demonstration) -> Demonstration:
        wave = (60 * np.sin(np.arange(len(own.state)) / 4))[:, None].astype(np.float32)
        return replace(own, state=own.state + wave, action=own.action + wave)

    report = checked(record(Path("own"), COUNT, {8: other}))
    assert [finding.episode for finding in report.by_check["unlike"]] == [8]


def test_an_episode_without_an_instruction_among_others() -> None:
    finding = only_finding(checked(record(Path("own"), COUNT, {5: lambda own: replace(own, task=" ")})))
    assert str(finding) == "episode 5: has no instruction, although others have one"


def test_signals_that_never_change_are_noted() -> None:
    def stuck(own: Demonstration) -> Demonstration:
        state = own.state.copy()
        state[:, 2] = 1
        return replace(own, state=state)

    finding = only_finding(checked(record(Path("own"), 10, dict.fromkeys(range(10), stuck))))
    assert (finding.check, finding.severity) == ("constant", NOTE)
    assert finding.message == "1 of 3 signals of observation.state never change: gripper.pos"


def test_frozen_and_black_cameras_are_found() -> None:
    faults = {1: made.frozen, 4: made.black}
    findings = checked(record(Path("own"), 6, faults, with_pictures=True)).findings
    assert [(own.check, own.episode, own.feature) for own in findings] == [
        ("cameras", 1, CAMERA),
        ("cameras", 4, CAMERA),
    ]
    assert findings[0].message.endswith("although the robot moves")
    assert findings[0].frames is not None
    assert findings[0].frames.start <= 25
    assert findings[1].message == f"{CAMERA} is black in 8 of the 8 pictures that were looked at"


def test_a_camera_is_not_frozen_while_nothing_moves() -> None:
    report = check_dataset(read_metadata(record(Path("own"), 6, {2: made.still_at_the_end}, with_pictures=True)))
    assert set(report.by_check) == {"idle"}


def late_frame(meta: DatasetMetadata, episode: int) -> None:
    """Let an episode's frames come late from frame 30 on."""
    path = meta.data_file(meta.episodes[episode])
    table = pq.read_table(path)
    times = table["timestamp"].to_numpy().copy()
    own = np.array(table["episode_index"]) == episode
    times[own & (np.array(table["frame_index"]) >= 30)] += 0.5
    column = table.schema.get_field_index("timestamp")
    pq.write_table(table.set_column(column, "timestamp", pa.array(times, pa.float32())), path)


def test_a_gap_in_time_is_found_at_its_frame() -> None:
    late_frame(read_metadata(record(Path("own"), 6)), 2)
    finding = only_finding(checked(Path("own")))
    assert str(finding) == f"episode 2: frame 30 comes {0.5 + 1 / FPS:.3f} s after the one before it, not 0.033 s"


def test_damaged_files_are_findings_too() -> None:
    record(Path("own"), 6, with_pictures=True)
    next(Path("own").glob("videos/**/*.mp4")).write_bytes(b"nonsense")
    findings = checked(Path("own")).by_check
    assert findings["files"][0].severity == PROBLEM
    assert len(findings["cameras"]) == 6
    next(Path("own").glob("data/**/*.parquet")).write_bytes(b"nonsense")
    report = checked(Path("own"))
    assert report.episodes == 0
    assert set(report.by_check) == {"files"}


def test_a_quick_look_says_the_same_about_the_chosen_episodes() -> None:
    meta = read_metadata(record(Path("own"), COUNT, {3: made.still_at_the_end, 4: made.broken}))
    quick = look_over(meta, range(COUNT))
    assert list(map(str, quick.findings)) == list(map(str, check_dataset(meta).findings))
    without = look_over(meta, [number for number in range(COUNT) if number != 4])
    assert [finding.check for finding in without.findings] == ["idle"]


def test_every_check_has_a_title_and_advice() -> None:
    for kind in CHECKS.values():
        assert kind.title
        assert kind.advice.endswith(".")


@pytest.mark.slow
def test_recordings_of_experts_raise_no_warning() -> None:
    recorded = yardarm(
        *("record", "--policy.type=expert", "--env.type=metaworld", "--env.task=reach-v3,drawer-open-v3"),
        *("--n_episodes=8", "--only_successes=true", "--dataset.features=states", "--seed=100000"),
        *("--dataset.root=own", "--output_dir=run"),
    )
    assert recorded.returncode == 0, recorded.stderr
    assert not checked(Path("own")).count(PROBLEM, WARNING)
