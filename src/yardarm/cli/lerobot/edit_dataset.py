"""``yardarm edit-dataset``: ``yardarm dataset`` with LeRobot's flags.

LeRobot edits in place if no other name is given, and so does this; but the original is always kept, beside the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from yardarm.cli.dataset_commands import common
from yardarm.cli.dataset_commands import info as info_command
from yardarm.cli.flags import Flags, describe, listed, read_flags
from yardarm.cli.lerobot.operations import OPERATIONS, Info, Merge, Operation, Split, given
from yardarm.cli.lerobot.spellings import Absent, refuse_absent, rename
from yardarm.cli.sections import gather
from yardarm.config import decode, one_of, option
from yardarm.datasets import DatasetMetadata, default_root, find_dataset, read_metadata
from yardarm.datasets.editing import merge_datasets, replace_keeping_original, split_dataset
from yardarm.errors import UsageError
from yardarm.hub import HUB_ID
from yardarm.recording import Target, check_hub, push

__all__ = ["read_edit", "run"]

COMMAND = "edit-dataset"
Result = tuple[DatasetMetadata, Target]
ALL_CORES = Absent("all cores are used; omit it")
RELATIVE = Absent("statistics of relative actions cannot be computed here; omit it")
ENCODER = ("vcodec", "pix_fmt", "g", "crf", "preset", "extra_options")
RENAMED = {f"operation.rgb_encoder.{name}": f"operation.{name}" for name in ENCODER}
ABSENT = {
    "operation.chunk_size": RELATIVE,
    "operation.concatenate_data": Absent("files are always filled up to their usual size; omit it", ("true",)),
    "operation.concatenate_videos": Absent("files are always filled up to their usual size; omit it", ("true",)),
    "operation.depth_encoder.": Absent("depth maps are copied as they are; omit it"),
    "operation.encoder_threads": ALL_CORES,
    "operation.num_workers": ALL_CORES,
    "operation.relative_action": Absent(RELATIVE.answer, ("false",)),
    "operation.relative_exclude_joints": RELATIVE,
    "operation.rgb_encoder.": Absent(f"videos take {', '.join(ENCODER)}; omit it"),
    "operation.show_features": Absent("features are always shown; omit it", ("true",)),
    "operation.skip_image_video": Absent(
        "pictures are counted too; `yardarm dataset recompute-stats --every=N` uses every N-th", ("false",)
    ),
}
# What Yardarm's own commands call what LeRobot calls otherwise.
OWN_WORDS = {
    "--episodes": "--operation.episode_indices",
    "--names": "--operation.feature_names",
    "--splits": "--operation.splits",
    "--output": "--new_root",
}


@dataclass
class EditOptions:
    """Flags outside of ``--operation.``."""

    repo_id: str | None = option(None, "the dataset: owner/name in $HF_LEROBOT_HOME or on the Hub")
    root: Path | None = option(None, "its folder, if it is elsewhere")
    new_repo_id: str | None = option(None, "the result's name [the dataset's: it is replaced, and kept as NAME_old]")
    new_root: Path | None = option(None, "the result's folder [$HF_LEROBOT_HOME/owner/name]")
    push_to_hub: bool = option(False, "upload the result to the Hub")

    def __post_init__(self) -> None:
        self.new_root = self.new_root.expanduser() if self.new_root is not None else None

    def source(self) -> Path:
        """The dataset's folder; it is downloaded if it is only on the Hub."""
        if not self.repo_id and self.root is None:
            raise UsageError("which dataset? Give --repo_id=owner/name or --root=FOLDER")
        return find_dataset(self.repo_id or "", self.root)

    def output(self, source: Path, suffix: str) -> Path:
        """The result's folder, found as LeRobot does."""
        if self.new_root is not None:
            return self.new_root
        if self.new_repo_id:
            return default_root(self.new_repo_id)
        is_name = self.root is not None or source != Path(self.repo_id or "").expanduser()  # and not a folder's path
        if self.repo_id and HUB_ID.fullmatch(self.repo_id) and is_name:
            return default_root(f"{self.repo_id}{suffix}")
        return source.with_name(f"{source.name}{suffix}")

    def target(self, root: Path, name: str | None) -> Target:
        """Where the result goes, on the Hub too if that is asked for."""
        if self.push_to_hub and not name:
            raise UsageError("--push_to_hub needs a name on the Hub: add --new_repo_id=owner/name")
        return Target(root, name if self.push_to_hub else None, self.push_to_hub)


def run(words: Sequence[str]) -> int:
    """Do what ``--operation.type`` says."""
    plain, flags = read_flags(words)
    if "help" in flags or not words:
        print(_help(flags))
        return 0
    if plain:
        raise UsageError(f"yardarm {COMMAND} takes flags only, not '{plain[0]}'; `yardarm dataset` takes folders")
    operation, options = read_edit(flags)
    with _lerobots_words():
        if isinstance(operation, Info):
            return info_command.run([str(options.source())])
        results = _written(operation, options)
    for meta, target in results:
        common.say_result(meta)
        if target.push:
            print(f"On the Hub: {push(target)}")
    return 0


def read_edit(flags: Flags) -> tuple[Any, EditOptions]:
    """The operation with its options, and the other options."""
    data = gather(refuse_absent(rename(flags, RENAMED), ABSENT))
    section = data.pop("operation", {})
    if not isinstance(section, Mapping) or not section.get("type"):
        raise UsageError(f"--operation.type is missing; use one of {', '.join(OPERATIONS)}")
    kind = str(section["type"])
    if kind == "convert_image_to_video":
        raise UsageError(
            "--operation.type=convert_image_to_video: images cannot be turned into videos here; record with "
            "--dataset.video=true, or let LeRobot convert them"
        )
    one_of("--operation.type", kind, OPERATIONS)
    own = {name: value for name, value in section.items() if name != "type"}
    operation = decode(OPERATIONS[kind], "operation", own, f"{COMMAND} --operation.type={kind}")
    options: EditOptions = decode(EditOptions, "", data, COMMAND)
    return operation, options


def _written(operation: Operation | Merge | Split, options: EditOptions) -> list[Result]:
    if isinstance(operation, Merge):
        return _merge(operation, options)
    if isinstance(operation, Split):
        return _split(operation, options)
    return [_edit(operation, options)]


def _edit(operation: Operation, options: EditOptions) -> Result:
    """Write to the new place; in place, keep the original."""
    source = options.source()
    output = options.output(source, operation.suffix)
    target = options.target(output, options.new_repo_id or (options.repo_id and f"{options.repo_id}{operation.suffix}"))
    check_hub(target)
    in_place = output.exists() and output.resolve() == source.resolve()
    if in_place and operation.suffix and not getattr(operation, "overwrite", False):
        raise UsageError(f"{output} would be replaced; allow it by --operation.overwrite=true, or give --new_repo_id")
    with common.progress() as show:
        if in_place:
            kept = replace_keeping_original(source, partial(operation.write, source, show=show))
            print(f"The original is kept: {kept}")
        else:
            operation.write(source, output, show)
    return read_metadata(output), target


def _merge(operation: Merge, options: EditOptions) -> list[Result]:
    if options.repo_id or options.root:
        raise UsageError("merge takes --operation.repo_ids and --new_repo_id; omit --repo_id and --root")
    names: list[str] = given("repo_ids", operation.repo_ids)
    roots: Sequence[Path | None] = operation.roots or [None] * len(names)
    if len(roots) != len(names):
        raise UsageError(f"--operation.roots names {len(roots)} folders for {len(names)} datasets")
    if not options.new_repo_id and options.new_root is None:
        raise UsageError("merge needs a name for the result: --new_repo_id=owner/name, or --new_root=FOLDER")
    output = options.output(Path(), "")
    target = options.target(output, options.new_repo_id)
    check_hub(target)
    sources = [find_dataset(name, root) for name, root in zip(names, roots, strict=True)]
    with common.progress() as show:
        return [(merge_datasets(sources, output, on_progress=show), target)]


def _split(operation: Split, options: EditOptions) -> list[Result]:
    """Parts in the folder --new_root; without it, datasets of their own: NAME_train, NAME_val."""
    if options.new_repo_id:
        raise UsageError("split names its parts after --repo_id; omit --new_repo_id, or give --new_root=FOLDER")
    splits: dict[str, Any] = given("splits", operation.splits)
    source = options.source()
    parts = {
        name: options.new_root / name if options.new_root else options.output(source, f"_{name}") for name in splits
    }
    targets = {
        name: options.target(part, options.repo_id and f"{options.repo_id}_{name}") for name, part in parts.items()
    }
    for name, part in parts.items():
        check_hub(targets[name])
        if part.exists():
            raise UsageError(f"{part} already exists; give --new_root=FOLDER")
    whole = options.new_root or options.output(source, "_splits")
    with common.progress() as show:
        results = split_dataset(source, splits, whole, show)
    if options.new_root is None:
        for name, part in parts.items():
            (whole / name).rename(part)
        whole.rmdir()
        results = {name: read_metadata(part) for name, part in parts.items()}
    return [(meta, targets[name]) for name, meta in results.items()]


@contextlib.contextmanager
def _lerobots_words() -> Iterator[None]:
    """Say what is wrong in the words that the user has typed."""
    try:
        yield
    except UsageError as error:
        text = str(error)
        for own, lerobots in OWN_WORDS.items():
            text = text.replace(own, lerobots)
        raise type(error)(text) from error


def _help(flags: Flags) -> str:
    kind = flags.get("operation.type", "")
    rows = [("--operation.type", "", ", ".join(OPERATIONS)), *describe(EditOptions)]
    if kind in OPERATIONS:
        rows += describe(OPERATIONS[kind], "operation.")
    rows.append(("--config_path", "", "a YAML or JSON file with these options"))
    return (
        "Edit a dataset with LeRobot's flags; `yardarm dataset` does the same with shorter ones. Without a\n"
        "new name, the result replaces the dataset once it is complete, and the original is kept as NAME_old.\n\n"
        f"usage: yardarm {COMMAND} --repo_id=… --operation.type=… [--flag=value …]\n\n{listed(rows)}\n\n"
        "Add --help to an operation to list its flags. docs/from-lerobot.md says what differs from LeRobot.\n\n"
        "examples:\n"
        "  yardarm edit-dataset --repo_id=me/reach --operation.type=delete_episodes --operation.episode_indices=[0,2]\n"
        "  yardarm edit-dataset --new_repo_id=me/both --operation.type=merge --operation.repo_ids=[me/reach,me/push]"
    )
