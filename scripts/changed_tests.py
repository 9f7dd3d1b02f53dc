"""Print the tests of what has changed since the last push, or since another commit: ``changed_tests.py [REVISION]``.

A change in ``src/yardarm/ROOM`` is tested by ``tests/ROOM``. The layers are always tested: any import can break them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALWAYS = ("tests/test_architecture.py",)
# What has no folder of its own below `tests/`.
ELSEWHERE = {
    "Makefile": ("tests/test_make.py",),
    "docs": ("tests/test_guides.py",),
    "README.md": ("tests/test_guides.py",),
    "examples": ("tests/test_examples.py", "tests/displays"),
    "serve": ("tests/serve",),
    "pyproject.toml": ("tests/test_packaging.py",),
}


def changed_files(since: str | None) -> list[str]:
    """Files that differ from a commit, and those that git does not know yet."""
    base = since or _git("merge-base", "HEAD", "@{upstream}") or "HEAD"
    lines = _git("diff", "--name-only", "--relative", base), _git("ls-files", "--others", "--exclude-standard")
    return sorted({line for text in lines for line in text.splitlines()})


def tests_of(files: Iterable[str]) -> list[str]:
    """The folders and files below ``tests/`` that hold these files to their promises."""
    found = dict.fromkeys(ALWAYS)
    for file in files:
        found.update(dict.fromkeys(path for path in _candidates(Path(file)) if (ROOT / path).exists()))
    folders = [path for path in found if not path.endswith(".py")]
    return [path for path in found if path in folders or not path.startswith(tuple(f"{own}/" for own in folders))]


def _candidates(file: Path) -> tuple[str, ...]:
    match file.parts:
        case ("src", "yardarm", room, *_):
            name = Path(room).stem
            return (f"tests/{name}", f"tests/test_{name}.py")
        case ("tests", name) if name.startswith("test_"):
            return (f"tests/{name}",)
        case ("tests", room, name) if name.startswith("test_"):
            return (f"tests/{room}/{name}",)
        case ("tests", room, *_) if room not in ("golden", "plugin"):
            return (f"tests/{room}",)
        case (first, *_):
            return ELSEWHERE.get(first, ())
    return ()


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    print(*tests_of(changed_files(sys.argv[1] if len(sys.argv) > 1 else None)))
