"""``yardarm dataset-viz``: ``yardarm dataset view`` with LeRobot's flags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.commands.view import LISTENING_FLAGS
from yardarm.cli.dataset_commands import view
from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown
from yardarm.cli.lerobot.spellings import Absent, refuse_absent, rename
from yardarm.errors import UsageError

__all__ = ["own_flags", "run"]

COMMAND = "dataset-viz"
SWITCHES = ("help", "display_compressed_images", "no_autoplay")
LOADING = Absent("the viewer reads only what you look at; omit it")
RENAMED = {"web_port": "port"}
ABSENT = {
    "batch_size": LOADING,
    "display_compressed_images": Absent("the browser shows the videos as they are stored; omit it"),
    "display_mode": Absent("episodes are shown in the browser; --save 1 --output-dir DIR writes a file for Rerun"),
    "grpc_port": Absent("the browser needs one port: --port=N"),
    "mode": Absent(
        "to view from another machine, tunnel the port (ssh -L), or add --host=0.0.0.0 to let anyone view", ("local",)
    ),
    "no_autoplay": Absent("nothing plays until you start it; omit it", ("true",)),
    "num_workers": LOADING,
    "tolerance_s": Absent("the viewer shows the videos' own times; omit it"),
}
FLAGS = [
    ("--repo-id", "", "the dataset: owner/name in $HF_LEROBOT_HOME or on the Hub, or its folder"),
    ("--root", "", "its folder, if it is elsewhere"),
    ("--episode-index", "", "the episode to show"),
    ("--save", "0", "1: write a file for Rerun into --output-dir instead"),
    ("--output-dir", "", "the folder for that file"),
    *LISTENING_FLAGS,
]
HELP = f"""\
Show an episode of a dataset in the browser, with LeRobot's flags; `yardarm dataset view` does the same for any number
of datasets.

usage: yardarm {COMMAND} --repo-id=owner/name --episode-index=0 [--flag=value …]

{listed(FLAGS)}"""


def run(words: Sequence[str]) -> int:
    """Show the episode until Ctrl-C, or write a Rerun recording."""
    plain, given = read_flags([_with_underscores(word) for word in words], SWITCHES)
    if "help" in given or not words:
        print(HELP)
        return 0
    if plain:
        raise UsageError(f"yardarm {COMMAND} takes flags only, not '{plain[0]}'; `yardarm dataset view` takes folders")
    flags = own_flags(given)
    passed_on = [f"--{name}={flags[name]}" for name in ("port", "host", "open", "edit") if name in flags]
    episode = int(number(flags, "episode_index", 0, whole=True)) if "episode_index" in flags else None
    saved = _saved(flags, episode)
    folder = _folder(flags, episode)
    chosen = [] if episode is None else [f"--episode={episode}"]
    folders = [folder] if saved else [folder, *_blobs(folder)]
    return view.run([*map(str, folders), *chosen, *saved, *passed_on])


def own_flags(given: Flags) -> Flags:
    """The flags, checked, with Yardarm's names."""
    flags = refuse_absent(rename(given, RENAMED), ABSENT)
    refuse_unknown(flags, [name[2:].replace("-", "_") for name, _, _ in FLAGS], COMMAND)
    return flags


def _with_underscores(word: str) -> str:
    """``--repo-id=a-b`` as ``--repo_id=a-b``: LeRobot's script has hyphens, its other commands have underscores."""
    name, equals, value = word.partition("=")
    return f"--{name[2:].replace('-', '_')}{equals}{value}" if word.startswith("--") else word


def _folder(flags: Flags, episode: int | None) -> Path:
    from yardarm.datasets import find_dataset

    if "repo_id" not in flags and "root" not in flags:
        raise UsageError("which dataset? Give --repo-id=owner/name or --root=FOLDER")
    return find_dataset(flags.get("repo_id", ""), flags.get("root"), episodes=None if episode is None else [episode])


def _blobs(folder: Path) -> list[Path]:
    """Where the Hub's cache keeps the files of a dataset that it links to: the viewer shows nothing else's files."""
    blobs = folder.parent.parent / "blobs"
    return [blobs] if folder.parent.name == "snapshots" and blobs.is_dir() else []


def _saved(flags: Flags, episode: int | None) -> list[str]:
    """The file that is written, called as LeRobot calls it."""
    if flags.get("save", "0") not in ("0", "1"):
        raise UsageError(f"--save must be 0 or 1, got '{flags['save']}'")
    if flags.get("save", "0") == "0":
        if "output_dir" in flags:
            raise UsageError(f"--output-dir={flags['output_dir']} is for a file that is written: add --save 1")
        return []
    if "output_dir" not in flags:
        raise UsageError("--save 1 needs a folder for the file: add --output-dir=DIR")
    name = flags.get("repo_id") or Path(flags.get("root", "")).name
    part = "" if episode is None else f"_episode_{episode}"
    folder = Path(flags["output_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    return [f"--rerun={folder / (name.strip('/').replace('/', '_') + part)}.rrd"]
