"""One rule says what a word means, wherever a user may name a policy by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from yardarm.policies import PolicySpec, against_from_data, as_policy, named_policy


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("expert", {"type": "expert"}),
        ("act", {"type": "act"}),
        ("package.module:Name", {"type": "package.module:Name"}),
        ("lerobot/act", {"path": "lerobot/act"}),
        ("outputs/a/b", {"path": "outputs/a/b"}),
        ("./a,./b", {"path": "./a,./b"}),
        ("ws://host:1", {"url": "ws://host:1"}),
        ("expret", {"type": "expret"}),
        ("", {"type": ""}),
    ],
)
def test_a_word_is_a_name_an_address_or_a_path(word: str, said: dict[str, str]) -> None:
    assert named_policy(word) == said


def test_a_folder_is_a_path_unless_a_policy_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("expert").mkdir()
    assert named_policy("mine") == {"path": "mine"}
    assert named_policy("expert") == {"type": "expert"}


def test_python_and_flags_mean_the_same() -> None:
    assert as_policy("expert", dict, None) == PolicySpec("expert")
    assert as_policy("ws://host:1", dict, None) == PolicySpec("remote", {"url": "ws://host:1"})
    assert as_policy(Path("expert"), dict, None) == PolicySpec("pretrained", {"path": "expert"})
    assert as_policy("lerobot/act", dict, None) == against_from_data("lerobot/act")
