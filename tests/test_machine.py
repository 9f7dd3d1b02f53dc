from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from yardarm.machine import (
    _cgroup_quota,
    available_memory,
    busy_core_seconds,
    cpu_time,
    give_back_memory,
    memory_of,
    usable_cores,
    working_instructions,
)


@pytest.mark.parametrize(
    ("cpuinfo", "settings"),
    [
        ("cpuid level\t: 28\nflags\t: fpu avx2 amx_bf16 amx_tile\n", {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}),
        ("cpuid level\t: 32\nflags\t: fpu avx2 amx_bf16 amx_tile\n", {}),
        ("cpuid level\t: 22\nflags\t: fpu avx2\n", {}),
        ("processor\t: 0\nFeatures\t: fp asimd\n", {}),
    ],
    ids=["a VM that hides AMX", "AMX", "an older processor", "ARM"],
)
def test_instructions_that_a_machine_only_claims_are_avoided(
    cpuinfo: str, settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr("yardarm.machine.CPUINFO", tmp_path / "cpuinfo")
    assert working_instructions() == settings


def test_affinity_limits_the_cores() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"job/cpu.max": "150000 100000"}, 1.5),
        ({"job/cpu.max": "max 100000"}, None),
        ({"cpu.max": "200000 100000", "job/cpu.max": "max 100000"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_containers_quota_is_read(files: dict[str, str], quota: float | None, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    membership = tmp_path / "membership"
    membership.write_text("0::/job\n")
    assert _cgroup_quota(tmp_path, membership) == quota


def test_a_thread_that_computes_has_used_a_core() -> None:
    before, machine_before = cpu_time(), busy_core_seconds()
    spin(0.2)
    after, machine_after = cpu_time(), busy_core_seconds()
    assert before is not None
    assert after is not None
    assert after.used_s - before.used_s >= 0.19
    if machine_before is not None and machine_after is not None:  # it counts in hundredths
        assert machine_after - machine_before >= 0.15


def test_a_sleeping_thread_neither_uses_a_core_nor_waits_for_one() -> None:
    thread = [threading.get_native_id()]
    before = cpu_time(threads=thread)
    time.sleep(0.2)
    after = cpu_time(threads=thread)
    assert before is not None
    assert after is not None
    assert after.used_s - before.used_s < 0.1


def test_what_has_gone_uses_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert cpu_time(process.pid) is None
    assert memory_of(process.pid) == 0


def test_this_process_has_some_of_the_memory() -> None:
    free = available_memory()
    assert memory_of(os.getpid()) > 1_000_000
    assert free is not None
    assert free > 1_000_000


def spin(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps so much")
def test_freed_memory_is_given_back() -> None:
    """What lies between pieces that are still in use is kept by the allocator."""
    pieces = [bytearray(60_000) for _ in range(4_000)]
    del pieces[::2]
    before = memory_of(os.getpid())
    give_back_memory()
    assert before - memory_of(os.getpid()) > 50e6
