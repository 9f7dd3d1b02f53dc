"""Writes a run's results into a model card, as the Hub's evaluation metadata.

The card keeps everything else: only Yardarm's earlier results for the same tasks, and the text between Yardarm's
marks, are replaced. The front matter is edited as text, key by key, because `huggingface_hub.ModelCard` rewrites all of
it and loses comments, unknown fields, the name of a second model, and ``language: no``, which it reads as false.

The Hub's newer format (``.eval_results/*.yaml``, huggingface_hub's `EvalResultEntry`) is not written. Its entries must
name a dataset that the Hub has registered as a benchmark, and a task of that dataset's ``eval.yaml``. None of Yardarm's
simulators was found in the Hub's list, and an entry has no fields for k, n and an interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import yaml

from yardarm.errors import UsageError, one_line
from yardarm.files import write_output
from yardarm.report.markdown import escaped, markdown
from yardarm.report.rows import ResultRow, overall, policy_name, sections
from yardarm.report.table import interval_text
from yardarm.results import StoredResult

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

__all__ = ["write_model_card"]

# The Hub's own metrics are for text and labels; it accepts any, and cards of robot policies use this one.
METRIC = "success_rate"
TASK = "robotics"
TAGS = ("robotics", "yardarm")
MADE_BY = "Yardarm"
BEGIN, END = "<!-- yardarm:begin", "<!-- yardarm:end -->"
SECTION = re.compile(rf"{BEGIN} ([^\n]*) -->\n.*?{END}", re.DOTALL)
MOST_GROUPS = 4
Names = frozenset[str]


def write_model_card(run: StoredResult, path: Path) -> Path:
    """Write or update a model card (README.md, if `path` is a folder); writing it again changes nothing."""
    _check(run)
    path = path / "README.md" if path.is_dir() else path
    old = _read(path)
    newline = "\r\n" if "\r\n" in old else "\n"
    card = _parsed(old.replace("\r\n", "\n") or f"# {escaped(policy_name(run))}\n", path)
    data = {**card.data, **_metadata(card.data, run)}
    front = _front_matter(card, data)
    new = f"---\n{front}\n---\n{_with_section(card.body, run)}".replace("\n", newline)
    if new != old:
        write_output(path, new.encode(), "choose another file")
    return path


def _check(run: StoredResult) -> None:
    result = run.result
    if not run.is_finished:
        raise UsageError(
            f"{result.path} is not finished ({len(result.episodes)} of {result.planned} episodes), and the "
            "episodes that finish first are not a fair sample for a model card; resume it with "
            f"`yardarm eval --config_path={run.folder.config}`"
        )
    if result.shard is not None:
        raise UsageError(
            f"{result.path} is shard {result.shard} of an evaluation; merge the shards first (`yardarm merge`)"
        )
    if result.counts.rate is None:
        raise UsageError(f"{result.path} has no episode without an error, so there is no result for a model card")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as a model card: {one_line(error)}") from error


@dataclass(frozen=True, slots=True)
class _Card:
    """A model card: its front matter as text and as data, and the text that follows."""

    front: str
    data: Mapping[str, Any]
    body: str


def _parsed(text: str, path: Path) -> _Card:
    from huggingface_hub import ModelCard
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    if text.count(BEGIN) != len(SECTION.findall(text)):
        raise UsageError(f"{path} has a yardarm:begin without a yardarm:end; restore the end, or remove both")
    match = REGEX_YAML_BLOCK.search(text)
    if match is None:
        if re.match(r"\s*---[ \t]*\n", text):
            raise UsageError(f"the front matter of {path} has no end; add a line of three dashes")
        return _Card("", {}, f"\n{text}")
    try:
        data = yaml.safe_load(match[2]) or {}
        ModelCard(text)  # raises if this is not a model card
        if not isinstance(data.get("tags") or [], list | str):
            raise ValueError(f"tags must be a list, got {data['tags']!r}")
    except (ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise UsageError(f"the front matter of {path} cannot be parsed: {one_line(error)}") from error
    return _Card(match[2], data, text[match.end() :])


def _metadata(old: Mapping[str, Any], run: StoredResult) -> dict[str, Any]:
    """The keys of the front matter to change."""
    tags = old.get("tags") or []
    tags = [tags] if isinstance(tags, str) else tags
    new: dict[str, Any] = {"tags": [*tags, *(tag for tag in TAGS if tag not in tags)]}
    if not old.get("library_name") and run.manifest.newest.policy and run.manifest.newest.policy.path:
        new["library_name"] = "lerobot"  # checkpoints are LeRobot's
    return {**new, "model-index": _model_index(old.get("model-index") or [], run)}


def _model_index(old: Sequence[Mapping[str, Any]], run: StoredResult) -> list[dict[str, Any]]:
    """The index with this run's results instead of earlier ones; a second model's entry does not change."""
    from huggingface_hub import repocard_data

    (own,) = repocard_data.eval_results_to_model_index(policy_name(run), list(_eval_results(run)))
    names = _group_names(run) | {_name(task.task.benchmark, task.task.name) for task in run.result.tasks}
    if not old:
        return [own]
    kept = [{**model, "results": [one for one in model["results"] if not names & _ours(one)]} for model in old]
    return [{**kept[0], "results": [*kept[0]["results"], *own["results"]]}, *kept[1:]]


def _eval_results(run: StoredResult) -> Iterator[EvalResult]:
    """The whole run, then each group of several tasks, then each task."""
    result, groups = run.result, list(run.result.groups())
    worlds = list(dict.fromkeys(task.task.benchmark for task in result.tasks))
    more = [f"{len(groups) - MOST_GROUPS} more"] if len(groups) > MOST_GROUPS else []
    every = sorted(_group_names(run))
    yield _eval_result(run, overall(result), "+".join(worlds), "+".join([*groups[:MOST_GROUPS], *more]), every)
    once: set[tuple[str, str, str]] = set()
    for section, tasks in zip(sections(result), result.groups().values(), strict=True):
        world, own = tasks[0].task.benchmark, [_name(tasks[0].task.benchmark, tasks[0].task.group)]
        if section.whole is not None and section.whole.counts.episodes:
            yield _eval_result(run, section.whole, world, tasks[0].task.group, own)
        for row in section.tasks:
            # A run's only task equals the whole run, above; a task in two groups is listed once.
            if row.counts.episodes and row.key not in once and len(result.by_task()) > 1:
                yield _eval_result(run, row, world, row.name, own)
            once.add(row.key)


def _eval_result(run: StoredResult, row: ResultRow, world: str, config: str, groups: list[str]) -> EvalResult:
    from huggingface_hub import EvalResult

    interval, uncertainty = row.interval, run.result.uncertainty
    ends = f"{100 * interval.confidence:.4g}% interval {interval_text(interval)}"
    version = run.manifest.newest.versions.get("yardarm")
    return EvalResult(
        task_type=TASK,
        task_name="Robotics",
        dataset_type=world,
        dataset_name=f"{world} {config}",
        # The Hub's client merges results of the same type and config.
        dataset_config=config,
        dataset_args={"groups": groups},
        metric_type=METRIC,
        metric_value=_rounded(row.counts.rate or 0.0),
        metric_name=f"success rate ({row.fraction}, {ends})",
        # The source of a result must be an address on the Hub, and Yardarm has none; so it is named here.
        metric_args={
            "evaluated_with": f"{MADE_BY} {version}",
            "successes": row.counts.successes,
            "episodes": row.counts.episodes,
            "errors": row.counts.errors,
            "interval": [_rounded(interval.low), _rounded(interval.high)],
            "confidence": interval.confidence,
            "method": uncertainty.per_task if row.key[0] else f"{uncertainty.per_task}, {uncertainty.over_tasks}",
            "seed": run.manifest.plan.seed,
            **({"mixed_versions": dict(mixed)} if (mixed := run.result.mixed_versions) else {}),
        },
        verified=False,
    )


def _rounded(rate: float) -> float:
    return round(rate, 4)


def _ours(result: Mapping[str, Any]) -> Names:
    """The groups and the task that a result in a card is about, if Yardarm wrote it; otherwise empty."""
    dataset = result.get("dataset") or {}
    metrics = [metric.get("args") for metric in result.get("metrics") or ()]
    made = [isinstance(own, dict) and str(own.get("evaluated_with")).startswith(MADE_BY) for own in metrics]
    if not made or not all(made):
        return frozenset()
    arguments = dataset.get("args")
    groups = arguments.get("groups") if isinstance(arguments, dict) else None
    return frozenset({*map(str, groups or ()), _name(dataset.get("type"), dataset.get("config"))})


def _group_names(run: StoredResult) -> Names:
    return frozenset(_name(task.task.benchmark, task.task.group) for task in run.result.tasks)


def _name(world: str | None, part: str | None) -> str:
    return f"{world}/{part}"


def _front_matter(card: _Card, data: Mapping[str, Any]) -> str:
    """The text with only the changed keys replaced; rewritten completely if its layout is unusual."""
    from huggingface_hub.utils import yaml_dump

    text = f"{card.front}\n" if card.front else ""
    for key, value in data.items():
        if key not in card.data or card.data[key] != value:
            text = _with_key(text, key, yaml_dump({key: value}, sort_keys=False))
    try:
        parsed_correctly = yaml.safe_load(text) == data
    except yaml.YAMLError:
        parsed_correctly = False
    return (text if parsed_correctly else yaml_dump(dict(data), sort_keys=False)).removesuffix("\n")


def _with_key(text: str, key: str, block: str) -> str:
    """Replace a top-level key and its value: the indented lines, list items and empty lines that follow."""
    old = re.compile(rf"^{re.escape(key)}[ \t]*:.*\n(?:[ \t-].*\n|\n)*", re.MULTILINE)
    return old.sub(lambda _: block, text, count=1) if old.search(text) else text + block


def _with_section(body: str, run: StoredResult) -> str:
    """The text with the run's table: in place of one of the same groups, or at the end."""
    worlds = ", ".join(dict.fromkeys(task.task.benchmark for task in run.result.tasks))
    marks = " ".join(quote(name, safe="/") for name in sorted(_group_names(run)))
    own = f"{BEGIN} {marks} -->\n## Evaluation on {escaped(worlds)}\n\n{markdown([run], None)}\n{END}"
    earlier = [found for found in SECTION.finditer(body) if _groups_of(found) & _group_names(run)]
    if not earlier:
        return f"{body.rstrip()}\n\n{own}\n" if body.strip() else f"{own}\n"
    for found in reversed(earlier[1:]):
        body = body[: found.start()] + body[found.end() :].lstrip("\n")
    return body[: earlier[0].start()] + own + body[earlier[0].end() :]


def _groups_of(section: re.Match[str]) -> Names:
    return frozenset(unquote(mark) for mark in section[1].split())
