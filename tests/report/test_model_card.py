"""A model card gets a run's results, keeps all that it had, and does not change the second time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.report.runs import VERSIONS, MadeTask, stored, tasks_of
from yardarm.errors import UsageError
from yardarm.report import write_model_card
from yardarm.results import StoredResult
from yardarm.stats import wilson

OTHERS = """\
---
# the authors' own remark
license: apache-2.0
language: no
tags: [act, robotics]
model-index:
- name: their-model
  results:
  - task: {type: robotics}
    dataset: {type: metaworld, name: Meta-World, config: medium, note: by hand}
    metrics:
    - {type: success_rate, value: 0.5, args: default}
- name: second-model
  results: []
datasets:
- lerobot/metaworld
---

# Their model

What they say of it.
"""


FRONTS = [
    "",
    "---\nlicense: mit\n---\n",
    "---\ntags:\n- a\n\nlicense: mit # free\n---",
    "---\n{license: mit}\n---\n",
    "---\r\nlicense: mit\r\ntags: a\r\n---\r\n",
]


@pytest.fixture
def run(tmp_path: Path) -> StoredResult:
    return stored(tmp_path / "run", tasks_of({"reach-v3": "sssf", "push-v3": "sfff"}), policy="act-1")


def results(path: Path) -> dict[str, EvalResult]:
    found = ModelCard.load(path).data.eval_results
    return {result.dataset_config: result for result in found}


def front_matter(path: Path) -> dict[str, object]:
    return dict(yaml.safe_load(path.read_text().split("---\n")[1]))


def test_the_hubs_client_reads_the_results_back(run: StoredResult, tmp_path: Path) -> None:
    path = write_model_card(run, tmp_path / "README.md")
    card = ModelCard.load(path)
    assert card.data.model_name == "act-1"
    assert card.data.tags == ["robotics", "yardarm"]
    own = results(path)
    assert list(own) == ["medium", "reach-v3", "push-v3"]
    assert [result.metric_value for result in own.values()] == [0.5, 0.75, 0.25]
    overall, interval = own["medium"], wilson(4, 8)
    assert (overall.task_type, overall.dataset_type, overall.metric_type) == ("robotics", "metaworld", "success_rate")
    assert overall.verified is False
    assert overall.metric_args["interval"] == pytest.approx([interval.low, interval.high], abs=1e-4)
    assert (overall.metric_args["successes"], overall.metric_args["episodes"]) == (4, 8)
    assert overall.metric_args["evaluated_with"] == "Yardarm 0.1.0"
    assert overall.metric_name == "success rate (4/8, 95% interval 21.5% – 78.5%)"
    assert card.text.startswith("\n# act-1\n")
    assert "| reach-v3 | 75.0% | 3/4 |" in card.text


def test_all_that_a_card_has_stays(run: StoredResult, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(OTHERS)
    write_model_card(run, path)
    text = path.read_text()
    assert "# the authors' own remark\nlicense: apache-2.0\nlanguage: no\n" in text
    assert text.endswith("<!-- yardarm:end -->\n")
    assert "\n# Their model\n\nWhat they say of it.\n\n<!-- yardarm:begin metaworld/medium -->\n## Evaluation" in text
    data, before = front_matter(path), yaml.safe_load(OTHERS.split("---\n")[1])
    assert data["tags"] == ["act", "robotics", "yardarm"]
    assert data["datasets"] == ["lerobot/metaworld"]
    first, second = data["model-index"]  # type: ignore[misc]
    assert second == before["model-index"][1]
    assert first["name"] == "their-model"
    assert first["results"][0] == before["model-index"][0]["results"][0]  # theirs, though of the same benchmark
    assert len(first["results"]) == 4


def test_a_second_time_changes_nothing_and_writes_nothing(run: StoredResult, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(OTHERS)
    write_model_card(run, path)
    os.utime(path, (1, 1))
    before = path.read_bytes()
    write_model_card(run, path)
    assert path.read_bytes() == before
    assert path.stat().st_mtime == 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(FRONTS),
    st.text(st.sampled_from("ab #-\n|<>`\r"), max_size=30).map(lambda text: text.replace("\r", "\r\n")),
)
def test_whatever_a_card_says_twice_is_as_good_as_once(
    run: StoredResult, tmp_path: Path, front: str, body: str
) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"{front}\nx{body}", newline="")
    write_model_card(run, path)
    once = path.read_bytes()
    assert len(results(path)) == 3
    assert "".join(f"x{body}".split()) in "".join(once.decode().split())
    if front:
        assert front_matter_value(once, "license") == "mit"
    write_model_card(run, path)
    assert path.read_bytes() == once


def front_matter_value(content: bytes, key: str) -> object:
    return yaml.safe_load(content.decode().replace("\r\n", "\n").split("---\n")[1])[key]


def test_line_ends_stay_what_they_are(run: StoredResult, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_bytes(OTHERS.replace("\n", "\r\n").encode())
    write_model_card(run, path)
    content = path.read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n") > 50
    assert b"language: no\r\n" in content


def test_a_newer_run_of_the_same_tasks_takes_the_place_of_the_older(run: StoredResult, tmp_path: Path) -> None:
    path = write_model_card(run, tmp_path / "README.md")
    path.write_text(path.read_text() + "\nMore of theirs.\n")
    newer = stored(tmp_path / "newer", tasks_of({"reach-v3": "ssss"}))
    write_model_card(newer, path)
    assert {name: result.metric_value for name, result in results(path).items()} == {"medium": 1.0}
    text = path.read_text()
    assert text.count("yardarm:begin") == 1
    assert "push-v3" not in text
    assert text.endswith("<!-- yardarm:end -->\n\nMore of theirs.\n")


def test_another_benchmark_has_its_own_place(run: StoredResult, tmp_path: Path) -> None:
    path = write_model_card(run, tmp_path / "README.md")
    other = stored(tmp_path / "other", tasks_of({"a": "sf", "b": "ss"}, group="libero_goal", benchmark="libero"))
    write_model_card(other, path)
    assert list(results(path)) == ["medium", "reach-v3", "push-v3", "libero_goal", "a", "b"]
    write_model_card(run, path)
    assert sorted(results(path)) == ["a", "b", "libero_goal", "medium", "push-v3", "reach-v3"]
    assert path.read_text().count("yardarm:begin") == 2


def test_groups_of_several_tasks_have_results_of_their_own(tmp_path: Path) -> None:
    tasks = [MadeTask("one", "ss", "easy"), MadeTask("two", "sf", "easy"), MadeTask("three", "ff", "hard")]
    path = write_model_card(stored(tmp_path / "run", tasks), tmp_path / "README.md")
    assert {name: result.metric_value for name, result in results(path).items()} == {
        "easy+hard": 0.5,
        "easy": 0.75,
        "one": 1.0,
        "two": 0.5,
        "three": 0.0,
    }


def test_the_library_is_named_for_checkpoints_only_and_only_if_it_is_not_there(tmp_path: Path) -> None:
    tasks, checkpoint = tasks_of({"reach-v3": "s"}), {"path": "someone/act", "commit": "0f" * 20}
    scripted = write_model_card(stored(tmp_path / "scripted", tasks), tmp_path / "a.md")
    learned = stored(tmp_path / "learned", tasks, described=checkpoint)
    fresh = write_model_card(learned, tmp_path / "b.md")
    (tmp_path / "c.md").write_text("---\nlibrary_name: theirs\n---\n")
    kept = write_model_card(learned, tmp_path / "c.md")
    libraries = [ModelCard.load(path).data.library_name for path in (scripted, fresh, kept)]
    assert libraries == [None, "lerobot", "theirs"]
    assert ModelCard.load(fresh).data.model_name == "someone/act"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("---\nlicense: [mit\n---\nText", "cannot be parsed"),
        ("---\n- a list\n---\nText", "cannot be parsed"),
        ("---\nlicense: mit\nText", "has no end"),
        ("---\nmodel-index: later\n---\nText", "cannot be parsed"),
        ("---\nmodel-index:\n- results: []\n---\nText", "cannot be parsed"),
        ("---\ntags: 5\n---\nText", "cannot be parsed"),
        ("---\nlicense: mit\n---\n<!-- yardarm:begin metaworld/medium -->\nText", "without a yardarm:end"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_card_that_is_not_understood_is_left_alone(
    run: StoredResult, tmp_path: Path, content: str, reason: str
) -> None:
    path = tmp_path / "README.md"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match=reason) as caught:
        write_model_card(run, path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content.encode(errors="surrogateescape")


def test_a_run_that_is_not_finished_or_only_erred_is_not_published(tmp_path: Path) -> None:
    half = stored(tmp_path / "half", tasks_of({"reach-v3": "ss"}), status="interrupted", n_episodes=5)
    with pytest.raises(UsageError, match=r"not finished \(2 of 5 episodes\).*--config_path="):
        write_model_card(half, tmp_path / "README.md")
    with pytest.raises(UsageError, match="no episode without an error"):
        write_model_card(stored(tmp_path / "broken", tasks_of({"reach-v3": "ee"})), tmp_path / "README.md")
    assert not (tmp_path / "README.md").exists()


def test_a_folder_gets_a_readme(run: StoredResult, tmp_path: Path) -> None:
    assert write_model_card(run, tmp_path) == tmp_path / "README.md"
    with pytest.raises(UsageError, match="cannot be written"):
        write_model_card(run, tmp_path / "README.md" / "card.md")


def test_mixed_versions_are_in_the_table_and_in_the_index(tmp_path: Path) -> None:
    before = {"versions": {**VERSIONS, "mujoco": "3.0.1"}, "batch_size": 2}
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "sf"}), sessions=[before])
    path = tmp_path / "README.md"
    write_model_card(run, path)
    card = ModelCard.load(path)
    versions = ["3.0.1", VERSIONS["mujoco"]]
    assert f"**Mixed versions** (mujoco {' and '.join(versions)})" in card.text
    (result,) = card.data.eval_results
    assert result.metric_args["mixed_versions"] == {"mujoco": versions}
