"""Records on a disk of its own, which fills up in the second episode; prints how that ended.

Run in a mount namespace: `unshare -rm python full_disk.py FOLDER RECORD_WORDS…`, where FOLDER becomes the disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from yardarm.datasets import read_metadata
from yardarm.datasets.quality import PROBLEM, check_dataset

MB = 2**20
SIZE = 48 * MB


def fill(folder: Path) -> None:
    """Leave some kilobytes."""
    left = os.statvfs(folder)
    with (folder / "others").open("wb") as file:
        file.write(bytes(left.f_bavail * left.f_frsize - 8192))


def main() -> None:
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "yardarm", "record", *words, f"--dataset.root={folder / 'cube'}"]
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    awaited = {"recording episode 1", "episode 0 is saved"}
    for line in process.stdout:
        awaited -= {start for start in awaited if line.startswith(start)}
        if not awaited:
            fill(folder)
            break
    _, err = process.communicate(timeout=240)
    (folder / "others").unlink()
    meta = read_metadata(folder / "cube")
    problems = [str(own) for own in check_dataset(meta).findings if own.severity == PROBLEM]
    answer = {"code": process.returncode, "err": err, "episodes": meta.total_episodes, "problems": problems}
    print(json.dumps(answer))


main()
