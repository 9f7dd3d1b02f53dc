"""Secrets are used, and not written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import yardarm
from yardarm.secrecy import is_secret, redacted, without_secrets

POLICY = """
from yardarm.policies.scripted import ZeroPolicy

class Own(ZeroPolicy):
    def __init__(self, hf_token="", password=None, speed=1.0, headers=None):
        assert hf_token and password and headers, "it needs them"
        super().__init__()
"""
SECRETS = {"hf_token": "sesame-1", "password": 271828, "headers": '{"Authorization": "Bearer sesame-3"}'}


@pytest.mark.parametrize(
    "name", ["token", "password", "key", "api_key", "apiKey", "HF_TOKEN", "wandb-api-key", "client_secret", "db_pwd"]
)
def test_what_looks_like_a_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["path", "success_key", "image_key", "pad_token", "tokenizer", "max_tokens", "keyboard", "monkey", "author"]
)
def test_what_does_not(name: str) -> None:
    assert not is_secret(name)


def test_secrets_inside_of_options_and_commands_are_left_out() -> None:
    assert without_secrets({"a": 1, "b": {"token": 2, "c": 3}}) == {"a": 1, "b": {"c": 3}}
    words = ["eval", "--policy.token", "x", "--policy.key=y", "--policy.secret", "--seed=1"]
    assert redacted(words) == ["eval", "--policy.token", "…", "--policy.key=…", "--policy.secret", "--seed=1"]


def test_a_policys_secrets_are_in_no_file_of_its_run(tmp_path: Path) -> None:
    Path("own.py").write_text(POLICY)
    flags = [f"--policy.{name}={value}" for name, value in SECRETS.items()]
    words = ["eval", "--policy.type=own:Own", "--env.type=toy", "--env.task=left", "--eval.n_episodes=2"]
    answer = yardarm(*words, *flags, "--policy.speed=2", "--output_dir=run")
    assert answer.returncode == 0, answer.stderr
    said = [*(path.read_bytes() for path in Path("run").rglob("*") if path.is_file()), answer.stdout.encode()]
    for secret in (b"sesame-1", b"271828", b"sesame-3"):
        assert not any(secret in content for content in said)
    assert b"speed" in Path("run/config.yaml").read_bytes()
    # The same policy with another token is the same policy.
    other = [flag.replace("sesame", "poppy") for flag in flags]
    again = yardarm(*words, *other, "--policy.speed=2", "--output_dir=run")
    assert again.returncode == 0, again.stderr
