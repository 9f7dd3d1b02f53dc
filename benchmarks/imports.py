"""Measures the CPU time of importing Yardarm, and of ``yardarm eval --help``: python benchmarks/imports.py"""

from __future__ import annotations

import platform
import resource
import subprocess
import sys

REPEATS = 5
PROGRAMS = {
    "Python alone": "pass",
    "import numpy": "import numpy",
    "import yardarm.cli.flags": "import yardarm.cli.flags",
    "import yardarm.results": "import yardarm.results",
    "import yardarm.engine": "import yardarm.engine",
    "import yardarm.evaluation": "import yardarm.evaluation",
    "from yardarm.evaluation import evaluate": "from yardarm.evaluation import evaluate",
    "yardarm eval --help": "from yardarm.cli import main; main(['eval', '--help'])",
}


def cpu_seconds(code: str) -> float:
    """The minimum over several processes, since other programs on the machine only add to it."""
    spent = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def modules(code: str) -> int:
    """The number of modules loaded afterwards."""
    program = f"{code}\nimport sys; print(len(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return int(said.split()[-1])


def main() -> None:
    print(f"Python {platform.python_version()}, least of {REPEATS}\n\n| what | CPU s | modules |\n|---|---|---|")
    for name, code in PROGRAMS.items():
        print(f"| {name} | {cpu_seconds(code):.2f} | {modules(code)} |")


if __name__ == "__main__":
    main()
