"""The documentation builds as a site: no broken link, every public name, nothing from another host."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ROOT / ".venv-docs" / "bin" / "mkdocs"
MKDOCS = str(OURS) if OURS.exists() else shutil.which("mkdocs")
# What a browser fetches by itself; links that a reader may follow are another matter.
FETCHED = r"""<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if MKDOCS is None:
        pytest.skip("MkDocs is not installed: `make docs` installs it")
    folder = tmp_path_factory.mktemp("site")
    words = [MKDOCS, "build", "--quiet", "--site-dir", str(folder)]
    answer = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return folder


@pytest.mark.slow
def test_the_site_fetches_nothing_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    assert not {address for page in pages for address in re.findall(FETCHED, page.read_text())}


@pytest.mark.slow
@pytest.mark.parametrize(
    "package", ["yardarm", "yardarm.datasets", "yardarm.policies", "yardarm.stats", "yardarm.tasks"]
)
def test_the_reference_shows_every_public_name(site: Path, package: str) -> None:
    page = (site / "docs" / "api" / f"{package}.html").read_text()
    names = set(importlib.import_module(package).__all__) - {"__version__"}
    assert {name for name in names if f'id="{package}.{name}"' not in page} == set()


@pytest.mark.slow
def test_pages_keep_their_places_in_the_repository(site: Path) -> None:
    for place in ("index.html", "docs/evaluating.html", "docs/decisions/index.html", "benchmarks/2026-11-engine.html"):
        assert (site / place).is_file(), place
    assert (site / "examples" / "my_policy.py").is_file()
