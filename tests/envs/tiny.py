"""A world of one small package that is not installed here, and wheels to install it from without a network."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy

from tests.helpers import path_with

CONFIG = """
from dataclasses import dataclass, replace
from typing import ClassVar
from toy_world import ToyConfig

@dataclass
class TinyConfig(ToyConfig):
    name: ClassVar[str] = "tiny"
    requirements: ClassVar[tuple[str, ...]] = ("tiny-physics==1.0",)
    install_hint: ClassVar[str] = "pip install tiny-physics"

    def _task(self, name):
        task = super()._task(name)
        own = {"simulator": "tiny_simulator:TinySimulator", "preload": ("tiny_simulator",)}
        return replace(task, env=replace(task.env, **own))
"""
SIMULATOR = """
import tiny_physics
from toy_world import ToySimulator

class TinySimulator(ToySimulator):
    pass
"""


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Put a wheel of a few text files into a folder."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]))


def publish(folder: Path) -> dict[str, str]:
    """Make the world known, and its wheels; return the variables for processes that shall find them, and no others."""
    plugin = folder / "plugin"
    info = plugin / "tiny_world-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-world\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[yardarm.benchmarks]\ntiny = tiny_world:TinyConfig\n")
    (plugin / "tiny_world.py").write_text(CONFIG)
    (plugin / "tiny_simulator.py").write_text(SIMULATOR)
    wheel(folder / "wheels", "tiny-physics", "1.0", {"tiny_physics.py": ""})
    # The numpy of this environment, and nothing else of it.
    shared, here = folder / "shared", Path(numpy.__file__).parent.parent
    shared.mkdir()
    for name in ("numpy", "numpy.libs"):
        (shared / name).symlink_to(here / name)
    wheel(folder / "wheels", "numpy", numpy.__version__, {"shared_numpy.pth": f"{shared}\n"})
    return {
        "PYTHONPATH": path_with(plugin),
        "YARDARM_HOME": str(folder / "home"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
    }
