"""Connects to a Ray cluster, quietly."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.cluster.options import LOCAL, RayOptions
from yardarm.errors import SetupError, UsageError, one_line
from yardarm.machine import usable_cores

__all__ = ["Cluster", "Node", "check_address", "load_ray", "open_cluster"]

ANSWER_LIMIT_S = 5.0
FIND_BY_ITSELF = "auto"
# The preface that opens a connection, and an empty frame of settings; the other side begins with its settings, too.
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
HTTP2_HEADER, HTTP2_SETTINGS = 9, 4


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster, and how much of it is free."""

    id: str
    name: str
    cpus: int
    free_cpus: int
    gpus: int
    free_gpus: int


def load_ray() -> Any:
    """Import Ray, without its usage statistics and its own messages about what died."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Lines for the terminal: `log_to_driver` does not cover Ray's own, and this variable is read at the import.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise SetupError("--runner=ray needs Ray, which is not installed; run: pip install 'yardarm[ray]'") from error
    return ray


def check_address(options: RayOptions) -> None:
    """Refuse an address at which no cluster answers: Ray itself would try for minutes, and end the process."""
    load_ray()
    address = options.chosen_address()
    if address in (LOCAL, FIND_BY_ITSELF):
        return
    flag = "--ray.address" if options.address else "RAY_ADDRESS"
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise UsageError(
            f"{flag}={address} must be host:port, as `ray start --head` prints it; the command runs on a machine that "
            "reaches all nodes"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_LIMIT_S) as end:
            answers = bool(os.environ.get("RAY_USE_TLS")) or _speaks_grpc(end)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"{flag}={address} does not answer ({one_line(error)}); is the cluster up? `ray start --head` starts one"
        ) from error
    if not answers:
        raise UsageError(f"{flag}={address} is not a Ray cluster: something else listens there")


def _speaks_grpc(end: socket.socket) -> bool:
    """Greet in HTTP/2, as gRPC does, and check whether the greeting is returned."""
    end.sendall(HTTP2_GREETING)
    answer = end.recv(HTTP2_HEADER)
    return len(answer) == HTTP2_HEADER and answer[3] == HTTP2_SETTINGS


class Cluster:
    """A cluster that this process is connected to."""

    def __init__(self, ray: Any, address: str) -> None:
        self.ray = ray
        self.address = address

    def nodes(self) -> list[Node]:
        """The living nodes, with what is free on each of them."""
        from ray._private.state import available_resources_per_node  # there is no public function for it

        free: Mapping[str, Mapping[str, float]] = available_resources_per_node()
        living = [node for node in self.ray.nodes() if node["Alive"] and node["NodeID"] in free]
        return [
            Node(
                id=node["NodeID"],
                name=node["NodeManagerHostname"],
                cpus=int(node["Resources"].get("CPU", 0)),
                free_cpus=int(free[node["NodeID"]].get("CPU", 0)),
                gpus=int(node["Resources"].get("GPU", 0)),
                free_gpus=int(free[node["NodeID"]].get("GPU", 0)),
            )
            for node in living
        ]

    def pinned_to(self, node: Node, *, soft: bool) -> Any:
        """Where an actor must live; a soft pin yields when the node dies."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node.id, soft=soft)


@contextlib.contextmanager
def open_cluster(options: RayOptions) -> Iterator[Cluster]:
    """Connect to the cluster, or start one on this machine that ends with the run."""
    check_address(options)
    ray, address = load_ray(), options.chosen_address()
    if ray.is_initialized():  # by our caller, who will end it
        yield Cluster(ray, "the process's own")
        return
    logging.getLogger("ray").setLevel(logging.ERROR)
    own = {"num_cpus": usable_cores(), "include_dashboard": False} if address == LOCAL else {}
    at_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        # Ray has every actor look for modules first where it is joined, and so not in the current folder.
        with contextlib.chdir("/"):
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"--ray.address={address}: the cluster cannot be joined: {one_line(error)[:200]}") from error
    if threading.current_thread() is threading.main_thread():
        # Ray's own handler would end the process at once, and nothing would be closed.
        signal.signal(signal.SIGTERM, at_sigterm)
    try:
        yield Cluster(ray, address)
    finally:
        ray.shutdown()
