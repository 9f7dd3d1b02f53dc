"""What two sessions must share, by their entries in a manifest."""

from __future__ import annotations

from typing import Any

from yardarm.results import (
    BatchingRecord,
    PolicyRecord,
    SessionRecord,
    about_mixed_versions,
    cautions,
    mixed_versions,
    software_of,
    version_changes,
)

HERE = {"yardarm": "0.1.0", "python": "3.12.3", "numpy": "2.2.0", "torch": "2.7.1", "mujoco": "3.3.0", "metaworld": "3"}


def session(**changed: Any) -> SessionRecord:
    usual = {"versions": HERE, "batch_size": 2, "worlds": {"metaworld": ("",)}, "uses_torch": True}
    return SessionRecord(**{**usual, **changed})


def changes(before: SessionRecord, now: SessionRecord, *worlds: str) -> list[str]:
    benchmarks = worlds or ("metaworld",)
    return [str(change) for change in version_changes(software_of(before, benchmarks), software_of(now, benchmarks))]


def test_what_is_not_known_of_both_is_trusted() -> None:
    unknown = {name: version for name, version in HERE.items() if name != "mujoco"}
    assert changes(session(versions=unknown), session()) == []
    assert changes(session(), session(versions={**HERE, "mujoco": None})) == []


def test_each_world_is_held_against_its_own_past() -> None:
    libero = {**HERE, "mujoco": "3.8.1", "robosuite": "1.4.0"}
    elsewhere = {"other_interpreters": {"/opt/python": libero}}
    worlds = ("metaworld", "libero")
    both = session(worlds={"metaworld": ("",), "libero": ("/opt/python",)}, **elsewhere)
    alone = session(worlds={"libero": ("/moved/python",)}, other_interpreters={"/moved/python": libero})
    assert changes(both, alone, *worlds) == [], "one world's versions are no news to the other, wherever they lie"
    updated = session(
        worlds={"libero": ("/opt/python",)}, other_interpreters={"/opt/python": {**libero, "numpy": "1.26"}}
    )
    assert changes(both, updated, *worlds) == ["numpy of libero's workers was 2.2.0, is now 1.26"]


def test_old_manifests_do_not_say_which_world_lives_where() -> None:
    elsewhere = {"/opt/python": {**HERE, "mujoco": "3.1"}}
    old = SessionRecord(versions=HERE, other_interpreters=elsewhere, batch_size=2)
    assert changes(old, session()) == ["mujoco was 3.1, is now 3.3.0"]


def test_torch_counts_where_the_policy_uses_it() -> None:
    other = {**HERE, "torch": "2.0"}
    assert changes(session(), session(versions=other)) == ["torch was 2.7.1, is now 2.0"]
    assert changes(session(uses_torch=False), session(versions=other)) == []
    batching = BatchingRecord(exact=True, rows=1, threads=1, device="cpu")
    learned = SessionRecord(versions=HERE, batching=batching, batch_size=2)  # of before, without `uses_torch`
    assert changes(learned, session(versions=other)) == ["torch was 2.7.1, is now 2.0"]


def test_a_policy_in_another_interpreter_counts_with_its_own_versions() -> None:
    def served(torch: str) -> SessionRecord:
        about = {"type": "smolvla", "lerobot": "0.4.0", "torch": torch}
        return session(uses_torch=False, policy=PolicyRecord(extra={"declared": {"yardarm": {"about": about}}}))

    assert changes(served("2.7.1"), served("2.6.0")) == ["torch of the policy's server was 2.7.1, is now 2.6.0"]


def test_a_mix_lists_all_versions_of_all_sessions() -> None:
    sessions = [session(versions={**HERE, "mujoco": version}) for version in ("3.3.0", "3.8.1", "3.3.0", "3.9")]
    mixed = mixed_versions(sessions, ["metaworld"])
    assert mixed == {"mujoco": ["3.3.0", "3.8.1", "3.9"]}
    assert about_mixed_versions(mixed).startswith("Mixed versions (mujoco 3.3.0 and 3.8.1 and 3.9): ")
    assert about_mixed_versions(mixed_versions(sessions[:1], ["metaworld"])) == ""


def test_a_shard_that_had_nothing_to_play_mixes_nothing() -> None:
    idle = session(versions={**HERE, "mujoco": "1"}, batch_size=None)
    assert mixed_versions([idle, session()], ["metaworld"]) == {}


def test_which_gpu_is_used_is_no_reason_to_warn() -> None:
    def on(**variables: str) -> SessionRecord:
        return session(environment_variables=variables)

    assert list(cautions([on(CUDA_VISIBLE_DEVICES="0"), on(CUDA_VISIBLE_DEVICES="3")])) == []
    assert list(cautions([session(), on(MKL_CBWR="AVX2")])) == [], "nothing is known of the first"
    (warning,) = cautions([on(), on(MKL_CBWR="AVX2")])
    assert warning == "made with different values of MKL_CBWR (AVX2, not set): last bits may differ"
