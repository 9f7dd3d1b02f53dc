"""``yardarm serve``: serve a policy over a WebSocket."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from yardarm.cli.flags import describe, listed
from yardarm.cli.sections import nested, read_only_flags
from yardarm.config import decode
from yardarm.envs import select_tasks
from yardarm.errors import UsageError
from yardarm.evaluation import check_policy_fits
from yardarm.policies import ForeignCheckpoint, open_policy, policy_from_data
from yardarm.serving import ServeOptions, serve_policy
from yardarm.tasks import TaskSpec, env_from_data
from yardarm_serve.batching import Served
from yardarm_serve.server import KEY_VARIABLE

__all__ = ["run"]

COMMAND = "serve"
ELSEWHERE = "`yardarm-serve --backend=lerobot --policy.path=…` in LeRobot's own environment"


def run(words: Sequence[str]) -> int:
    """Read the flags, load the policy, serve it until Ctrl-C."""
    flags = read_only_flags(words, COMMAND, lambda _: _help())
    if flags is None:
        return 0
    data = nested(flags, {})
    policy, env = data.pop("policy", {}), data.pop("env", None)
    options: ServeOptions = decode(ServeOptions, "", data, COMMAND)
    options.api_key = options.api_key or os.environ.get(KEY_VARIABLE) or None
    task: TaskSpec | None = select_tasks([env_from_data(env, COMMAND)])[0] if env is not None else None
    spec = policy_from_data(policy)
    if spec.type in ("lerobot", "remote"):
        raise UsageError(
            f"--policy.type={spec.type}: yardarm serve cannot serve a policy that runs elsewhere; use {ELSEWHERE}"
        )
    try:
        with open_policy(spec, [task] if task else []) as loaded:
            if task is not None:
                check_policy_fits(loaded.policy, loaded.traits, [task])
            served = serve_policy(loaded, options, task, lambda port: _say_ready(loaded.id, options, port))
    except ForeignCheckpoint as error:
        raise error.advising(ELSEWHERE) from None
    _say_served(served)
    return 0


def _say_ready(name: str, options: ServeOptions, port: int) -> None:
    print(
        f"serving {name} on ws://{options.host}:{port} for Yardarm's, openpi's and vla-eval's clients; Ctrl-C to stop",
        flush=True,
    )
    if options.server_config().is_open_to_all:
        print("yardarm: warning: anyone who can reach this port can use the policy; set --api_key", file=sys.stderr)


def _say_served(served: Served) -> None:
    batches = sum(served.batches.values())
    mean = served.requests / batches if batches else 0
    print(f"answered {served.requests} requests in {batches} batches, {mean:.1f} each; {served.errors} errors")


def _help() -> str:
    rows: list[tuple[str, str, str]] = [
        ("--policy.path", "", "a checkpoint, with the options listed by `yardarm eval --help`"),
        (
            "--policy.type",
            "",
            "instead of a path: a policy by name, or package.module:Name with options --policy.NAME=…",
        ),
        (
            "--env.type, --env.task",
            "",
            "the task to assume for clients that do not name one, e.g. for expert or random",
        ),
        *describe(ServeOptions),
    ]
    return (
        "Serve a policy over a WebSocket, on one port, to the clients of Yardarm, openpi and vla-eval.\n\n"
        "usage: yardarm serve --policy.path=… [--flag=value …]\n\n" + listed(rows) + "\n\nexamples:\n"
        "  yardarm serve --policy.path=outputs/train/my_act/checkpoints/last/pretrained_model\n"
        "  yardarm eval --policy.type=remote --policy.url=ws://127.0.0.1:8000 --env.type=metaworld --env.task=reach-v3"
    )
