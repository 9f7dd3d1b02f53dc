"""Every relative link in README and docs leads somewhere, on GitHub as on the site, and every page can be found."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "serve/README.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "recipes").glob("*.md")),
    *GUIDES,
]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its code blocks."""
    without_fences = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^    .*$", "", without_fences, flags=re.MULTILINE)


def links_in(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "code", text))


def anchors_of(page: Path) -> set[str]:
    """What GitHub makes of a page's headings: lower case, hyphens for spaces, numbers for those that come again."""
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", prose(page), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return anchors


def faults_of(page: Path) -> list[str]:
    """The links of a page that lead nowhere, or to a folder, which the site cannot show."""
    faults = []
    for link in links_in(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_file() or (anchor and anchor not in anchors_of(target)):
            faults.append(link)
    return faults


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    assert not faults_of(page)


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Stop, `resume`, add\n\n[a](#stop-resume-add) [b](#stop) [c](gone.md) [d](.)\n\n    [e](code.md)\n"
    )
    assert faults_of(page) == ["#stop", "gone.md", "."]


def test_the_navigation_names_every_guide() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    named = set(re.findall(r"[\w./*-]+\.md", navigation))
    found = {page for pattern in named for page in ROOT.glob(pattern)}
    assert found >= set(GUIDES)
    assert all(any(ROOT.glob(pattern)) for pattern in named)


def test_the_index_of_decisions_names_each_once() -> None:
    decisions = ROOT / "docs" / "decisions"
    pages = [page for page in sorted(decisions.glob("*.md")) if page.name != "README.md"]
    assert sorted(links_in((decisions / "README.md").read_text())) == [page.name for page in pages]
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert page.read_text().startswith(f"# {int(page.name[:4])}. ")
