"""``yardarm dataset view``: datasets in the browser, or as a recording for Rerun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from yardarm.cli.commands.view import LISTENING_FLAGS, read_listening, say_address
from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown
from yardarm.errors import UsageError

__all__ = ["run"]

SWITCHES = ("rerun", "help")
FLAGS = [
    *LISTENING_FLAGS,
    ("--rerun", "", "write a recording for Rerun instead: NAME.rrd, or --rerun=FILE.rrd"),
    ("--episode", "", "the page to open first; with --rerun, the only episode to write"),
]
HELP = f"""\
Look at LeRobot datasets in the browser: what is in them, statistics, and each episode's videos beside its states and
actions. Nothing is changed, and nothing leaves this machine.

usage: yardarm dataset view DIR [DIR …] [--flag=value …]

  DIR  a dataset, or a folder of datasets
{listed(FLAGS)}"""


def run(words: Sequence[str]) -> int:
    """Serve until Ctrl-C, or write a recording."""
    plain, flags = read_flags(words, SWITCHES)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS], "dataset view")
    if not plain:
        raise UsageError("which dataset? `yardarm dataset view DIR` takes a dataset, or a folder of datasets")
    if "rerun" in flags:
        return _write_recording([Path(word) for word in plain], flags)
    return _serve([Path(word) for word in plain], flags)


def _serve(folders: Sequence[Path], flags: Flags) -> int:
    from yardarm.datasets import read_metadata, select_episodes
    from yardarm.viewer import DatasetCatalogue, serve_datasets

    catalogue = DatasetCatalogue(folders)
    names = catalogue.names()
    if not names:
        where = ", ".join(map(str, folders))
        raise UsageError(f"there is no dataset in {where}; a LeRobot dataset is a folder with meta/info.json")
    page = _first_page(names, flags)
    if len(names) == 1 and (episode := _episode(flags)) is not None:
        select_episodes([episode], read_metadata(catalogue.path(names[0])).total_episodes, "--episode")
    listening = read_listening(flags)
    say = say_address(", ".join(map(str, folders)), listening, flags)
    try:
        serve_datasets(catalogue, listening, lambda address: say(address + page))
    except KeyboardInterrupt:
        return 0  # that is how one ends it
    return 0


def _first_page(names: Sequence[str], flags: Flags) -> str:
    """The list, or the one dataset that there is, or the episode of it that is wanted."""
    episode = _episode(flags)
    if len(names) > 1:
        if episode is not None:
            raise UsageError(f"--episode is of one dataset, and there are {len(names)}; name it")
        return ""
    if episode is None:
        return f"/dataset?{urlencode({'dataset': names[0]})}"
    return f"/dataset/episode?{urlencode({'dataset': names[0], 'index': episode})}"


def _episode(flags: Flags) -> int | None:
    return int(number(flags, "episode", 0, whole=True)) if "episode" in flags else None


def _write_recording(folders: Sequence[Path], flags: Flags) -> int:
    from yardarm.datasets.rerun_export import write_rerun

    if len(folders) != 1:
        raise UsageError(f"--rerun takes one dataset, got {len(folders)}")
    for name in ("port", "host", "open"):
        if name in flags:
            raise UsageError(f"--{name} is for the browser, and --rerun writes a file; leave one of them out")
    episode = _episode(flags)
    given = "" if flags["rerun"] == "true" else flags["rerun"]
    part = "" if episode is None else f"_episode_{episode}"
    target = Path(given or f"{folders[0].resolve().name}{part}.rrd")
    count = write_rerun(folders[0], target, None if episode is None else [episode])
    print(f"Wrote {count} {'episode' if count == 1 else 'episodes'} to {target}   (rerun {target} shows it)")
    return 0
