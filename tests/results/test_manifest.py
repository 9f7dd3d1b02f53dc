"""Records become JSON and are read again; what is wrong with a file is told by its place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.golden.runs_0_1 import RUNS, TOY, Sometimes
from yardarm.api import evaluate
from yardarm.results import RunFolder, RunManifest, StoppingRecord, TrainingFolder, TrainingManifest

MANIFESTS = sorted(RUNS.rglob("manifest.json"))
TASK = {"benchmark": "toy", "env": "e", "group": "left", "index": 0, "name": "left", "instruction": "", "max_steps": 9}
SMALLEST: dict[str, Any] = {"format": 2, "plan": {}, "n_episodes": 3, "tasks": [{**TASK, "fps": 20}]}


def content_of(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def through_json(manifest: RunManifest | TrainingManifest) -> Any:
    return type(manifest).from_json(json.loads(json.dumps(manifest.to_json())))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_what_is_written_is_read_again(path: Path) -> None:
    manifest = RunManifest.from_json(content_of(path))
    assert through_json(manifest) == manifest
    assert manifest.to_json()["format"] == 2


def test_a_training_that_is_written_is_read_again() -> None:
    training = TrainingFolder(RUNS / "training").read_manifest()
    assert through_json(training) == training
    assert [len(training.sessions), training.policy.type, training.step] == [2, "act", 8]


def test_the_newest_session_of_format_1_stood_at_the_top() -> None:
    content = content_of(RUNS / "two_sessions" / "manifest.json")
    first, second = RunManifest.from_json(content).sessions
    assert (first.started, first.batch_size) == (content["sessions"][0]["session_started"], 1)
    assert (second.started, second.batch_size) == (content["session_started"], content["batch_size"])
    assert second.batching is not None
    assert second.batching.to_json() == content["inference"]
    assert second.tuning is not None
    assert second.tuning.to_json() == content["tuning"]


def test_nothing_of_format_1_is_lost() -> None:
    for path in MANIFESTS:
        manifest = RunManifest.from_json(content_of(path))
        assert manifest.extra == {}
        assert [session.extra for session in manifest.sessions] == [{}] * len(manifest.sessions)


def test_fields_of_a_newer_version_are_kept_where_they_may_matter() -> None:
    content = {**SMALLEST, "mood": "good", "sessions": [{"weather": "fair"}], "plan": {"robot": "so101"}}
    manifest = RunManifest.from_json(content)
    written = manifest.to_json()
    assert written["mood"] == "good"
    assert written["sessions"][0]["weather"] == "fair"
    assert written["plan"]["robot"] == "so101"
    assert manifest.plan != replace(manifest.plan, extra={}), "another experiment is not resumed"


def test_fields_of_a_newer_version_are_ignored_in_small_records() -> None:
    task = {**SMALLEST["tasks"][0], "colour": "red"}
    assert RunManifest.from_json({**SMALLEST, "tasks": [task]}) == RunManifest.from_json(SMALLEST)


def test_what_is_not_known_is_not_written() -> None:
    written = RunManifest.from_json(SMALLEST).to_json()
    assert not {"shard", "stopping", "tracking", "started"} & written.keys()
    assert None not in written.values()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"plan": None}, "plan must be a map, got None"),
        ({"tasks": [{"name": "left"}]}, r"tasks\[0\].benchmark is missing"),
        ({"tasks": [{**TASK, "fps": 20, "max_steps": -1}]}, r"tasks\[0\].max_steps must be 0 or more, got -1"),
        ({"sessions": [{}, {"versions": {"numpy": 2}}]}, r"sessions\[1\].versions.numpy must be text, got 2"),
        ({"sessions": [{"tuning": {"pinned": "no"}}]}, r"sessions\[0\].tuning.pinned must be true or false, got 'no'"),
        ({"sessions": {}}, "sessions must be a list, got {}"),
        ({"stopping": {"rule": "decided"}}, "stopping.n_episodes is missing"),
        ({"format": 1, "sessions": 3}, "sessions must be a list, got 3"),
        ({"format": 1, "sessions": ["x"]}, r"sessions\[0\] must be a map, got 'x'"),
        ({"format": 1, "batch_size": "two"}, "batch_size must be a whole number, got 'two'"),
    ],
)
def test_a_wrong_value_is_told_by_its_place(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}$"):
        RunManifest.from_json({**SMALLEST, **change})


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("decided", {"difference_interval": [0.1]}, "difference_interval must have 2 values, got 1"),
        ("decided", {"b": ...}, "b is missing"),
        ("decided", {"decision": ...}, "decision is missing"),
        ("precise", {"half_width": ...}, "half_width is missing"),
        ("precise", {"interval": "wide"}, "interval must be a list, got 'wide'"),
    ],
)
def test_the_evidence_of_an_early_stop_is_that_of_its_rule(name: str, change: dict[str, Any], complaint: str) -> None:
    content = content_of(RUNS / name / "eval_info.json")["overall"]["stopping"]
    assert StoppingRecord.from_json(content).to_json() == content
    changed = {key: value for key, value in {**content, **change}.items() if value is not ...}
    with pytest.raises(ValueError, match=f"^{complaint}$"):
        StoppingRecord.from_json(changed)


def test_a_session_that_plays_nothing_leaves_the_last_one_alone(tmp_path: Path) -> None:
    evaluate(Sometimes(0.9), TOY, n_episodes=1, batch_size=1, output_dir=tmp_path / "run")
    before = RunFolder(tmp_path / "run").read_manifest()
    evaluate(Sometimes(0.9), TOY, n_episodes=1, batch_size=1, output_dir=tmp_path / "run")
    after = RunFolder(tmp_path / "run").read_manifest()
    assert after.sessions == before.sessions
    assert after.status == "finished"
