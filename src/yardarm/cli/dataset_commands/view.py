"""``yardarm dataset view``: show datasets in the browser, or export one for Rerun."""

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
    ("--rerun", "", "write a Rerun recording instead: NAME.rrd, or --rerun=FILE.rrd"),
    ("--episode", "", "the episode to open first; with --rerun, the only episode to write"),
]
HELP = f"""\
Show LeRobot datasets in the browser: their contents, statistics, and each episode's videos next to its states and
actions, and what checks have found. You can flag episodes, and plan edits that are applied to a new dataset when you
say so. No data leaves this machine.

usage: yardarm dataset view DIR [DIR …] [--flag=value …]

  DIR        a dataset, or a folder of datasets
{listed(FLAGS)}

examples:
  yardarm dataset view data/reach --episode=3
  yardarm dataset view data/reach --rerun=reach.rrd"""


def run(words: Sequence[str]) -> int:
    """Serve the pages until Ctrl-C, or write a Rerun recording."""
    plain, flags = read_flags(words, SWITCHES)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS], "dataset view")
    if not plain:
        raise UsageError("yardarm dataset view needs a dataset, or a folder of datasets: yardarm dataset view DIR")
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
        return 0  # the normal way to stop
    return 0


def _first_page(names: Sequence[str], flags: Flags) -> str:
    """The page to open: the list, the only dataset, or its episode."""
    episode = _episode(flags)
    if len(names) > 1:
        if episode is not None:
            raise UsageError(
                f"--episode={episode} needs one dataset, and there are {len(names)}; give the folder of one"
            )
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
    for name in ("port", "host", "open", "edit"):
        if name in flags:
            raise UsageError(f"--{name} is for the browser, and --rerun writes a file; omit one of them")
    episode = _episode(flags)
    given = "" if flags["rerun"] == "true" else flags["rerun"]
    part = "" if episode is None else f"_episode_{episode}"
    target = Path(given or f"{folders[0].resolve().name}{part}.rrd")
    count = write_rerun(folders[0], target, None if episode is None else [episode])
    print(f"Wrote {count} {'episode' if count == 1 else 'episodes'} to {target}   (rerun {target} shows it)")
    return 0
