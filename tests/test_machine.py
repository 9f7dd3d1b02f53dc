from __future__ import annotations

import os
from pathlib import Path

import pytest

from yardarm.machine import _cgroup_quota, usable_cores


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
