"""Records on a disk of its own, which fills up when the second episode has ended; prints how that ended, and how the
recording goes on when there is space again.

Run in a mount namespace: `unshare -rm python full_disk.py FOLDER RECORD_WORDS…`, where FOLDER becomes the disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers import descendants
from yardarm.datasets import read_metadata
from yardarm.datasets.quality import PROBLEM, check_dataset

MB = 2**20
SIZE = 48 * MB


def fill(folder: Path) -> None:
    """Leave some kilobytes."""
    left = os.statvfs(folder)
    with (folder / "others").open("wb") as file:
        file.write(bytes(left.f_bavail * left.f_frsize - 8192))


def start(root: Path, words: list[str]) -> subprocess.Popen[str]:
    """A recording."""
    command = [sys.executable, "-m", "yardarm", "record", *words, f"--dataset.root={root}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], *starts: str) -> None:
    """Read until there were lines that begin so."""
    assert process.stdout is not None
    awaited = set(starts)
    while awaited:
        line = process.stdout.readline()
        assert line, f"it ended before {awaited}"
        awaited -= {start for start in awaited if line.startswith(start)}


def ended(process: subprocess.Popen[str], root: Path) -> dict[str, Any]:
    """How it ended, and what there is then."""
    out, err = process.communicate(timeout=240)
    meta = read_metadata(root)
    problems = [str(own) for own in check_dataset(meta).findings if own.severity == PROBLEM]
    lengths = [episode.length for episode in meta.episodes]
    return {"code": process.returncode, "out": out, "err": err, "lengths": lengths, "problems": problems}


def main() -> None:
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
    root = folder / "cube"
    process = start(root, words)
    wait_for(process, "recording episode 1", "episode 0 is saved")
    (encoder,) = [one for one in descendants(process.pid) if "encoder" in " ".join(one.cmdline())]
    encoder.suspend()
    wait_for(process, "reset")
    fill(folder)
    encoder.resume()
    full = ended(process, root)
    (folder / "others").unlink()
    rest = [word for word in words if not word.startswith("--dataset.num_episodes")]
    resumed = ended(start(root, [*rest, "--dataset.num_episodes=1", "--resume=true"]), root)
    left = [path.name for path in root.iterdir() if path.name.startswith(".")]
    print(json.dumps({"full": full, "resumed": resumed, "left": left}))


main()
