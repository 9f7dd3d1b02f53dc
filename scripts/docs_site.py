"""A hook of MkDocs: the site is the repository as it stands, with the same relative links as on GitHub.

MkDocs reads one folder, but README.md and the guides link to benchmarks, recipes and examples as well. So each page
keeps its path in the repository, and files outside of docs/ are added. The API reference is made here: a page for each
public package, with everything that its ``__all__`` lists.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "serve/README.md"),
    *("benchmarks/*.md", "benchmarks/*.py", "examples/**/*.py", "examples/*.ipynb", "recipes/*", "scripts/*.py"),
)
# What users import, in the order in which they meet it.
PACKAGES = (
    "yardarm",
    "yardarm.api",
    "yardarm.tasks",
    "yardarm.policies",
    "yardarm.evaluation",
    "yardarm.results",
    "yardarm.comparison",
    "yardarm.stats",
    "yardarm.datasets",
    "yardarm.datasets.editing",
    "yardarm.recording",
    "yardarm.training",
    "yardarm.tracking",
    "yardarm.envs",
    "yardarm.errors",
    "yardarm_serve",
)


def on_config(config: Any) -> Any:
    """Fill the navigation: a pattern stands for all pages of a folder, ``API`` for the packages."""
    for section in config.nav:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict):
                    entry.update({title: expanded(target) for title, target in entry.items()})
    return config


def expanded(target: str) -> Any:
    """The pages that an entry of the navigation stands for, the folder's own page first."""
    if target == "API":
        return [path_of("README"), *({name: path_of(name)} for name in PACKAGES)]
    if "*" in target:
        pages = [path.relative_to(ROOT).as_posix() for path in ROOT.glob(target)]
        return sorted(pages, key=lambda page: (not page.endswith("README.md"), page))
    return target


def on_files(files: Files, config: Any) -> Files:
    """Every file under its path in the repository, and the pages of the API reference."""
    mirrored = Files([])
    for file in files:
        place = file.abs_src_path
        ours = place is not None and Path(place).is_relative_to(ROOT / "docs")
        mirrored.append(File.generated(config, f"docs/{file.src_uri}", abs_src_path=place) if ours else file)
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            mirrored.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    mirrored.append(File.generated(config, path_of("README"), content=overview()))
    for package in PACKAGES:
        mirrored.append(File.generated(config, path_of(package), content=page_of(package)))
    return mirrored


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Mark names and flags, which the style keeps on one line: a browser would break them at their hyphens."""
    return re.sub(r"<code>([^<\s]{1,40})</code>", r'<code class="name">\1</code>', html)


def path_of(package: str) -> str:
    """Where the page of a package lies in the site."""
    return f"docs/api/{package}.md"


def overview() -> str:
    """The first page of the reference: each package with its public names."""
    lines = ["# API reference", "", "What each package lists in its `__all__`; everything else is private.", ""]
    lines += ["| package | what it is for | names |", "|---|---|---|"]
    for package in PACKAGES:
        names = ", ".join(f"[`{name}`]({package}.md#{package}.{name})" for name in public_names(package))
        lines.append(f"| [`{package}`]({package}.md) | {summary(package)} | {names} |")
    return "\n".join(lines) + "\n"


def page_of(package: str) -> str:
    """The page of one package: its summary, and a directive for each public name."""
    blocks = [f"# {package}", summary(package)]
    blocks += [f"::: {package}.{name}" for name in public_names(package)]
    return "\n\n".join(blocks) + "\n"


def summary(package: str) -> str:
    """The first line of a package's docstring."""
    return (ast.get_docstring(tree_of(package)) or "").partition("\n")[0]


def public_names(package: str) -> list[str]:
    """What a package's ``__all__`` lists, read without importing it: the site needs neither torch nor a simulator."""
    for node in tree_of(package).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [name for name in ast.literal_eval(node.value) if name != "__version__"]
    raise ValueError(f"{package} has no __all__")


def tree_of(package: str) -> ast.Module:
    """A package's source, parsed."""
    base = (ROOT / ("serve/src" if package == "yardarm_serve" else "src")).joinpath(*package.split("."))
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    return ast.parse(path.read_text())
