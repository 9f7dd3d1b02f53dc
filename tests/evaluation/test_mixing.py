"""Episodes of different versions come into one table only if somebody allows it, and then it says so for good."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from toy_world import ToyConfig

import yardarm
from tests.helpers import journal_lines, yardarm_here
from tests.helpers import yardarm as yardarm_command
from yardarm.comparison import compare, read_runs
from yardarm.errors import UsageError
from yardarm.report import markdown
from yardarm.results import RunFolder, RunManifest, read_result

TOY = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.batch_size=2"]
MIXED = "Mixed versions (gymnasium 0.1 and"
ALLOW = "--allow_mixed_versions=true"


def change(folder: Path, content: Callable[[dict[str, Any]], object]) -> None:
    """Have a run's manifest say something else."""
    manifest = json.loads((folder / "manifest.json").read_text())
    content(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def earlier(**versions: str) -> Callable[[dict[str, Any]], object]:
    """As if another version had played what is there."""
    return lambda content: newest(content)["versions"].update(versions)


def newest(content: dict[str, Any]) -> dict[str, Any]:
    """The newest session of a manifest."""
    return content["sessions"][-1]


def manifest_of(folder: Path) -> RunManifest:
    return RunFolder(folder).read_manifest()


@pytest.fixture(scope="module")
def two_episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two") / "run"
    assert yardarm_here(*TOY, "--eval.n_episodes=1", f"--output_dir={folder}").returncode == 0
    return folder


@pytest.fixture
def begun(two_episodes: Path, tmp_path: Path) -> Path:
    """A run of two episodes that a test may change."""
    shutil.copytree(two_episodes, tmp_path / "run")
    return tmp_path / "run"


def go_on(folder: Path, *words: str) -> Any:
    return yardarm_here(*TOY, "--eval.n_episodes=2", f"--output_dir={folder}", *words)


@pytest.mark.parametrize(
    ("package", "was", "message"),
    [
        ("mujoco", "3.0.1", "mujoco was 3.0.1, is now 3."),
        ("gymnasium", "0.1", "gymnasium was 0.1, is now "),
        ("numpy", "1.0", "numpy was 1.0, is now "),
        ("yardarm", "0.0.1", f"yardarm was 0.0.1, is now {yardarm.__version__}"),
        ("python", "3.4.10", "python was 3.4, is now 3."),
        ("toy-world", "0.0.1", "toy-world was 0.0.1, is now 0.1"),
    ],
)
def test_a_run_of_other_versions_is_refused_with_what_differs(
    package: str, was: str, message: str, begun: Path
) -> None:
    change(begun, earlier(**{package: was}))
    before = (begun / "manifest.json").read_text()
    refused = go_on(begun)
    assert refused.returncode == 2
    assert f"{begun} was made with other versions: {message}" in refused.stderr
    assert ALLOW in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stderr.count(" is now ") == 1, "what workers share with the main process is said once"
    assert journal_lines(begun) == 2
    assert (begun / "manifest.json").read_text() == before


def test_versions_that_change_no_episode_may_differ(begun: Path) -> None:
    patched = ".".join([*str(manifest_of(begun).newest.versions["python"]).split(".")[:2], "99"])
    change(
        begun, earlier(rich="1.0", wandb="0.1", av="1.0", pymunk="1.0", metaworld="1.0", torch="1.0", python=patched)
    )
    change(begun, lambda content: newest(content).update(uses_torch=True))
    # In a process of its own: tests before may have imported torch here.
    resumed = yardarm_command(*TOY, "--eval.n_episodes=2", f"--output_dir={begun}")
    assert resumed.returncode == 0, resumed.stderr
    assert manifest_of(begun).mixed_versions == {}


def test_torch_counts_for_a_policy_that_computes_with_it(tmp_path: Path) -> None:
    import torch

    class Still(torch.nn.Module):
        def forward(self, observations: Mapping[str, Any]) -> Any:
            return torch.zeros(len(observations["observation.state"]), 1)

    words: dict[str, Any] = {"inputs": ["observation.state"], "output_dir": tmp_path / "run", "batch_size": 2}
    yardarm.evaluate(Still(), ToyConfig(), n_episodes=1, **words)
    change(tmp_path / "run", earlier(torch="1.0"))
    with pytest.raises(UsageError, match=r"torch was 1\.0, is now "):
        yardarm.evaluate(Still(), ToyConfig(), n_episodes=2, **words)


def test_workers_of_another_interpreter_count_with_their_own_versions(begun: Path) -> None:
    change(begun, lambda content: newest(content).update(worlds={"toy": ["/old/python"]}))
    installed = {**manifest_of(begun).newest.versions, "numpy": "1.26.0", "mujoco": "2.9"}
    change(begun, lambda content: newest(content).update(other_interpreters={"/old/python": installed}))
    change(begun, earlier(mujoco="1.0"))  # here it was never imported
    refused = go_on(begun)
    assert refused.returncode == 2
    assert "numpy of toy's workers was 1.26.0, is now " in refused.stderr
    assert "mujoco was 2.9, is now " in refused.stderr


def test_a_finished_run_is_shown_whatever_is_installed_now(begun: Path) -> None:
    change(begun, earlier(gymnasium="0.1"))
    shown = yardarm_here(*TOY, "--eval.n_episodes=1", f"--output_dir={begun}")
    assert shown.returncode == 0, "nothing is played, so nothing is mixed"
    assert "Mixed versions" not in shown.stdout


def test_a_session_that_finished_no_episode_is_no_reason_to_refuse(begun: Path) -> None:
    change(begun, earlier(gymnasium="0.1"))
    (begun / "episodes.jsonl").write_text("")
    assert go_on(begun).returncode == 0
    assert manifest_of(begun).mixed_versions == {}


@pytest.fixture
def mixed(begun: Path) -> Path:
    """A run that was allowed to mix versions."""
    change(begun, earlier(gymnasium="0.1"))
    allowed = go_on(begun, ALLOW)
    assert allowed.returncode == 0, allowed.stderr
    assert MIXED in allowed.stdout
    assert journal_lines(begun) == 4
    return begun


def test_a_mix_that_is_allowed_marks_the_run_for_good(mixed: Path) -> None:
    current = manifest_of(mixed).newest.versions["gymnasium"]
    told = json.loads((mixed / "manifest.json").read_text())["mixed_versions"]
    assert told == manifest_of(mixed).mixed_versions == {"gymnasium": ["0.1", current]}
    assert json.loads((mixed / "eval_info.json").read_text())["overall"]["mixed_versions"]["gymnasium"][0] == "0.1"
    assert MIXED in (mixed / "report.html").read_text()
    assert f"**Mixed versions** (gymnasium 0.1 and {current})" in markdown([read_result(RunFolder(mixed))], None)
    again = go_on(mixed)
    assert again.returncode == 0
    assert MIXED in again.stdout, "the table says so each time"
    more = yardarm_here(*TOY, "--eval.n_episodes=3", f"--output_dir={mixed}")
    assert more.returncode == 0, "a version that is among them already adds nothing to the mix"
    assert MIXED in more.stdout


def test_consent_is_for_one_session_and_not_written_down(mixed: Path) -> None:
    assert "allow_mixed_versions" not in (mixed / "config.yaml").read_text()
    change(mixed, lambda content: [own["versions"].update(gymnasium="0.2") for own in content["sessions"]])
    refused = yardarm_here("eval", f"--config_path={mixed / 'config.yaml'}", "--eval.n_episodes=4")
    assert refused.returncode == 2
    assert "gymnasium was 0.2, is now" in refused.stderr


def test_comparisons_say_which_of_the_runs_is_a_mix(mixed: Path, two_episodes: Path) -> None:
    answer = yardarm_here("compare", mixed, two_episodes)
    assert f"{mixed}: {MIXED}" in answer.stdout
    assert f"{mixed}: {MIXED}" in json.dumps(json.loads(yardarm_here("compare", mixed, two_episodes, "--json").stdout))
    assert f": {MIXED}" in markdown(
        [read_result(RunFolder(mixed)), read_result(RunFolder(two_episodes))],
        compare(read_runs([mixed, two_episodes])),
    ).replace("**", "")


def test_a_comparison_names_versions_that_differ(begun: Path, two_episodes: Path) -> None:
    change(begun, earlier(gymnasium="0.1"))
    for path in (begun / "actions").rglob("*.npz"):
        path.unlink()  # then where an episode began is not known, unless its fingerprint tells
    lines = [json.loads(line) for line in (begun / "episodes.jsonl").read_text().splitlines()]
    for line in lines:
        line["fingerprints"]["0"] = "elsewhere"
    (begun / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = yardarm_here("compare", begun, two_episodes)
    assert "2 episodes have the same seed but start in different states" in answer.stdout
    assert "were made with different versions (gymnasium 0.1 and " in answer.stdout


def test_the_python_interface_refuses_and_allows_too(begun: Path) -> None:
    change(begun, earlier(gymnasium="0.1"))
    words: dict[str, Any] = {"n_episodes": 2, "output_dir": begun, "batch_size": 2}
    with pytest.raises(UsageError, match=r"gymnasium was 0\.1"):
        yardarm.evaluate("toy-mover", ToyConfig(), **words)
    result = yardarm.evaluate("toy-mover", ToyConfig(), allow_mixed_versions=True, **words)
    assert result.mixed_versions["gymnasium"][0] == "0.1"


def test_a_list_of_policies_refuses_and_allows_too(tmp_path: Path) -> None:
    words: dict[str, Any] = {"output_dir": tmp_path / "run", "batch_size": 2}
    policies = ["toy-mover", "toy_world:SlowlyPolicy"]
    first = yardarm.evaluate_several(policies, ToyConfig(), n_episodes=1, **words)
    change(next(iter(first.runs.values())).path, earlier(gymnasium="0.1"))
    with pytest.raises(UsageError, match=r"gymnasium was 0\.1"):
        yardarm.evaluate_several(policies, ToyConfig(), n_episodes=2, **words)
    second = yardarm.evaluate_several(policies, ToyConfig(), n_episodes=2, allow_mixed_versions=True, **words)
    assert [bool(run.mixed_versions) for run in second.runs.values()] == [True, False]


def test_the_second_policy_of_a_run_counts_too(tmp_path: Path) -> None:
    words = [*TOY, "--against=toy_world:SlowlyPolicy", f"--output_dir={tmp_path / 'run'}"]
    assert yardarm_here(*words, "--eval.n_episodes=1").returncode == 0
    change(tmp_path / "run" / "against", earlier(gymnasium="0.1"))
    refused = yardarm_here(*words, "--eval.n_episodes=2")
    assert refused.returncode == 2
    assert f"{tmp_path / 'run' / 'against'} was made with other versions" in refused.stderr
    allowed = yardarm_here(*words, "--eval.n_episodes=2", ALLOW)
    assert allowed.returncode == 0
    assert f"{tmp_path / 'run' / 'against'}: {MIXED}" in allowed.stdout


def test_shards_are_refused_and_allowed_when_they_go_on_and_when_they_are_merged(tmp_path: Path) -> None:
    words = [*TOY, f"--output_dir={tmp_path / 'run'}", "--eval.n_episodes=2"]
    for shard in ("1/2", "2/2"):
        assert yardarm_here(*words, f"--shard={shard}").returncode == 0
    second = tmp_path / "run" / "shard_2_of_2"
    change(second, earlier(gymnasium="0.1"))
    refused = yardarm_here(*words[:-1], "--eval.n_episodes=3", "--shard=2/2")
    assert refused.returncode == 2
    assert "gymnasium was 0.1" in refused.stderr
    apart = yardarm_here("merge", tmp_path / "run")
    assert apart.returncode == 2
    assert "is now 0.1; --allow_mixed_versions=true merges them" in apart.stderr
    together = yardarm_here("merge", tmp_path / "run", ALLOW)
    assert together.returncode == 0, together.stderr
    assert "Mixed versions (gymnasium" in together.stdout
    assert manifest_of(tmp_path / "run").mixed_versions["gymnasium"]
    assert "Mixed versions (gymnasium" in (tmp_path / "run" / "report.html").read_text()
    assert yardarm_here("merge", tmp_path / "run").returncode == 0, "what is mixed already needs no leave"
    more = yardarm_here(*words[:-1], "--eval.n_episodes=3")
    assert more.returncode == 0
    assert "Mixed versions (gymnasium" in more.stdout


def test_a_recording_refuses_and_allows_too(tmp_path: Path) -> None:
    words = ["record", "--env.type=toy", "--policy.type=toy-mover", "--dataset.features=states", "--workers=2"]
    words += [f"--dataset.root={tmp_path / 'data'}", f"--output_dir={tmp_path / 'run'}"]
    assert yardarm_here(*words, "--n_episodes=1").returncode == 0
    change(tmp_path / "run", earlier(gymnasium="0.1"))
    refused = yardarm_here(*words, "--n_episodes=2")
    assert refused.returncode == 2
    assert "gymnasium was 0.1" in refused.stderr
    assert yardarm_here(*words, "--n_episodes=2", ALLOW).returncode == 0


def test_a_manifest_of_a_later_format_is_refused_by_all_who_read_one(begun: Path, two_episodes: Path) -> None:
    change(begun, lambda content: content.update(format=99))
    for words in (
        [*TOY, "--eval.n_episodes=2", f"--output_dir={begun}"],
        ["compare", begun, two_episodes],
        ["report", begun],
        ["replay", begun, "--task=left"],
        ["merge", begun, f"--output_dir={begun.parent / 'merged'}"],
    ):
        refused = yardarm_here(*words)
        assert refused.returncode == 2, words
        assert "manifest.json has format 99, and this Yardarm reads up to 2: update Yardarm" in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_variables_that_differ_between_sessions_are_warned_of_and_kept(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    resumed = go_on(begun)
    assert resumed.returncode == 0
    warning = "made with different values of MKL_CBWR (COMPATIBLE, not set): last bits may differ"
    assert f"warning: {warning}" in resumed.stderr
    assert warning in manifest_of(begun).warnings
    monkeypatch.delenv("MKL_CBWR")
    assert go_on(begun).returncode == 0
    manifest = manifest_of(begun)
    first, second = (session.environment_variables or {} for session in manifest.sessions)
    assert warning in manifest.warnings, "it stays"
    assert second["MKL_CBWR"] == "COMPATIBLE", "nothing was played without it"
    assert "MKL_CBWR" not in first


def test_another_processor_is_warned_of(begun: Path) -> None:
    change(begun, lambda content: newest(content)["machine"].update(cpu="another"))
    assert "made with different processors (" in go_on(begun).stderr
