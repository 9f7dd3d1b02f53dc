"""``yardarm-serve``: serve a policy from the environment that it needs."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import hashlib
import importlib
import json
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

import yardarm_serve
from yardarm_serve.backend import Backend, BackendError, Contract
from yardarm_serve.batching import Limits
from yardarm_serve.server import KEY_VARIABLE, ServerConfig, names_of, serve

__all__ = ["main"]

BACKENDS = {"lerobot": "yardarm_serve.lerobot:LeRobotBackend"}
EXIT_USAGE = 2


def main(words: Sequence[str] | None = None) -> int:
    """Load the backend, serve it until Ctrl-C, and return the exit code."""
    arguments, rest = _parser().parse_known_args(words)
    # The output of libraries must not be mistaken for the line that reports the port.
    ready = os.fdopen(os.dup(1), "w", buffering=1) if arguments.announce else None
    if ready is not None:
        os.dup2(2, 1)
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        config = _server_config(arguments)
        backend = _load(arguments.backend, _options(rest))
        announce = _announcing(backend.contract.id, config, ready)
        asyncio.run(serve(backend, config, version=yardarm_serve.__version__, on_ready=announce))
    except BackendError as error:
        print(f"yardarm-serve: {error}", file=sys.stderr)
        if ready is not None:
            print(json.dumps({"error": str(error)}), file=ready)
        return EXIT_USAGE
    except Exception as error:
        if ready is not None:
            print(json.dumps({"failure": " ".join(f"{type(error).__name__}: {error}".split())}), file=ready)
        raise
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="yardarm-serve",
        description="Serve a policy over a WebSocket to Yardarm, openpi's and vla-eval's clients.",
        epilog="Each --policy.NAME=VALUE is passed to the backend. lerobot takes --policy.path (a folder or a Hub id), "
        "--policy.device, and any field of the checkpoint's config.json.",
        allow_abbrev=False,
    )
    parser.add_argument("--backend", default="lerobot", help="lerobot, or package.module:Name (default: lerobot)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0: any free one (default: 8000)")
    parser.add_argument("--api_key", help="the key that clients must send; or set YARDARM_API_KEY in the environment")
    parser.add_argument(
        "--allowed_hosts", default="", help="more host names under which /config answers, separated by commas"
    )
    parser.add_argument("--max_message_mb", type=float, default=64.0, help="size limit of a message (default: 64)")
    parser.add_argument("--max_connections", type=int, default=256, help="the most clients at once (default: 256)")
    parser.add_argument("--max_batch_size", type=int, default=64, help="the most requests in a batch (default: 64)")
    parser.add_argument(
        "--max_wait_time", type=float, help="seconds to wait for a batch to fill (default: chosen for the policy)"
    )
    parser.add_argument("--rename_map", default="{}", help="""'{"a client's name of an input": "the policy's name"}'""")
    parser.add_argument("--announce", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"yardarm-serve {yardarm_serve.__version__}")
    return parser


def _server_config(arguments: argparse.Namespace) -> ServerConfig:
    try:
        renaming = json.loads(arguments.rename_map)
        assert isinstance(renaming, dict)
    except (ValueError, AssertionError):
        raise BackendError(f"--rename_map must be a JSON object, got {arguments.rename_map}") from None
    return ServerConfig(
        host=arguments.host,
        port=arguments.port,
        api_key=arguments.api_key or os.environ.get(KEY_VARIABLE) or None,
        allowed_hosts=names_of(arguments.allowed_hosts),
        max_message_mb=arguments.max_message_mb,
        max_connections=arguments.max_connections,
        rename_map=renaming,
        limits=Limits(arguments.max_batch_size, arguments.max_wait_time),
    )


def _options(words: Sequence[str]) -> dict[str, Any]:
    """Read ``--policy.NAME=VALUE``; values are JSON if possible, otherwise text."""
    options: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name.startswith("--policy.") and not equals:
            raise BackendError(f"'{word}' needs a value: {word}=…")
        if not name.startswith("--policy."):
            raise BackendError(f"unknown argument '{word}'; `yardarm-serve --help` lists all")
        try:
            options[name.removeprefix("--policy.")] = json.loads(text)
        except ValueError:
            options[name.removeprefix("--policy.")] = text
    return options


def _load(name: str, options: dict[str, Any]) -> Backend:
    place = BACKENDS.get(name, name)
    module, colon, attribute = place.partition(":")
    if not colon:
        raise BackendError(f"unknown --backend={name}; use {', '.join(BACKENDS)}, or package.module:Name")
    if name not in BACKENDS:  # the user typed a module, so it may be in the current folder; nothing else may
        sys.path.append(os.getcwd())
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        hint = "; run it with the Python of an environment that has LeRobot" if name in BACKENDS else ""
        raise BackendError(f"--backend={name} cannot be imported: {error}{hint}") from error
    try:
        backend = factory(**options)
    except BackendError:
        raise
    except Exception as error:
        traceback.print_exc()
        raise BackendError(f"--backend={name} cannot be created: {type(error).__name__}: {error}") from error
    if not isinstance(getattr(backend, "contract", None), Contract):
        raise BackendError(f"--backend={name} has no contract; set `contract` to a yardarm_serve.Contract")
    return backend if name in BACKENDS else _with_options_in_id(backend, options)


def _with_options_in_id(backend: Backend, options: dict[str, Any]) -> Backend:
    """Add the options to the backend's id, since results are stored by it."""
    if options:
        digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:8]
        backend.contract = dataclasses.replace(backend.contract, id=f"{backend.contract.id}-{digest}")
    return backend


def _announcing(name: str, config: ServerConfig, ready: Any) -> Any:
    def announce(port: int) -> None:
        if ready is not None:
            print(json.dumps({"port": port}), file=ready)
            return
        print(f"serving {name} on ws://{config.host}:{port}; Ctrl-C ends it", file=sys.stderr)
        if config.is_open_to_all:
            print("yardarm-serve: warning: anyone who reaches this port can use it; set --api_key", file=sys.stderr)

    return announce


def _end_with_parent() -> None:
    """End when the process that started this server closes its standard input, or dies."""
    while os.read(0, 1):
        pass
    os._exit(0)
