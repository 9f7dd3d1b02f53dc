"""``yardarm report``: write a run's report, or the comparison of several; figures, Markdown, a model card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.flags import Flags, listed, read_flags, refuse_unknown, switch, text
from yardarm.comparison import Comparison, compare, read_runs, runs_in
from yardarm.errors import UsageError
from yardarm.pages import write_comparison_page, write_report, write_several_report
from yardarm.report import markdown, write_figures, write_model_card
from yardarm.results import RunFolder, SeveralFolder, StoredResult, read_result

__all__ = ["run"]

COMPARISON_PAGE = "comparison.html"
MODEL_CARD = "README.md"
SWITCHES = ("markdown", "allow_unfinished", "help")
FLAGS = [
    ("--output", "", f"the report's file [RUN/report.html; for several runs ./{COMPARISON_PAGE}]"),
    ("--figures", "", "write vector figures (PDF and SVG) to this folder, instead of the report"),
    ("--markdown", "", "print a table for a README, instead of writing the report"),
    (
        "--model-card",
        "",
        f"write the Hub's evaluation metadata to this model card [RUN/{MODEL_CARD}], instead of the report",
    ),
    ("--allow_unfinished", "", "accept unfinished runs in a comparison"),
]
HELP = f"""\
Write the HTML report of a run again, or one that compares several runs.

usage: yardarm report RUN … [--flag=value …]

{listed(FLAGS)}

examples:
  yardarm report outputs/eval/my_run
  yardarm report outputs/eval/act outputs/eval/diffusion --figures=figures"""


def run(words: Sequence[str]) -> int:
    """Write what the flags ask for, and print where it is."""
    paths, flags = read_flags(_spelled(words), SWITCHES)
    if "help" in flags or not words:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS], "report")
    if not paths:
        raise UsageError("yardarm report needs the folder of at least one run; see `yardarm report --help`")
    figures = text(flags, "figures")
    given = [Path(path) for path in paths]
    folders = runs_in(given)
    asked = {"figures": bool(figures), "markdown": switch(flags, "markdown"), "model-card": "model-card" in flags}
    outputs = [name for name, wanted in asked.items() if wanted]
    if "output" in flags and outputs:
        raise UsageError(f"--output names the report's file, and --{outputs[0]} writes no report; omit one of them")
    if asked["figures"] or asked["markdown"]:
        runs, comparison = _read(folders), _comparison(folders, flags)
        for path in write_figures(runs, comparison, Path(figures)) if figures else ():
            print(f"Figure: {path}")
        if asked["markdown"]:
            print(markdown(runs, comparison))
    if "model-card" in flags:
        print(f"Model card: {_model_card(folders, flags['model-card'])}")
    if not outputs:
        print(f"Report: {_page(given, flags)}")
    return 0


def _spelled(words: Sequence[str]) -> list[str]:
    """``--model-card`` alone does not take the next word; ``--model_card`` is the same flag."""
    words = [
        "--model-card" + word[len("--model_card") :] if word.startswith("--model_card") else word for word in words
    ]
    return [f"{word}=" if word == "--model-card" else word for word in words]


def _read(paths: Sequence[Path]) -> list[StoredResult]:
    return [read_result(RunFolder(path)) for path in paths]


def _comparison(paths: Sequence[Path], flags: Flags) -> Comparison | None:
    return compare(read_runs(paths, None, switch(flags, "allow_unfinished"))) if len(paths) > 1 else None


def _model_card(paths: Sequence[Path], named: str) -> Path:
    if len(paths) > 1:
        raise UsageError(f"--model-card needs the run of one policy, got {len(paths)} runs")
    return write_model_card(read_result(RunFolder(paths[0])), Path(named) if named else paths[0] / MODEL_CARD)


def _page(paths: Sequence[Path], flags: Flags) -> Path:
    named = text(flags, "output")
    output = Path(named) if named else None
    if len(paths) == 1 and SeveralFolder(paths[0]).index.exists():
        return write_several_report(SeveralFolder(paths[0]), output)
    if len(paths) == 1:
        return write_report(RunFolder(paths[0]), output)
    runs = read_runs(runs_in(paths), None, switch(flags, "allow_unfinished"))
    return write_comparison_page(compare(runs), runs, output or Path(COMPARISON_PAGE))
