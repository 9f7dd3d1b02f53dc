"""HTML files: self-contained pages, and the shell of the pages that the viewer serves.

The browser's code is in ``web/``, as modules that import each other by bare names ("yardarm/charts"). An import map
says where they are: at ``/web/`` on the viewer, or inside the file itself. So there is no build step.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["WEB", "served_page", "standalone_page"]

WEB = resources.files("yardarm.pages") / "web"
PREFIX = "yardarm/"
# The stylesheets, in the order in which they apply.
STYLES = ("base", "results", "charts", "player", "datasets", "workspace", "review", "trainings")
# Only the viewer has the pages that need these.
SERVED_STYLES = (*STYLES, "twin", "control")
# A report is self-contained: the browser may load nothing but the videos next to it.
ALONE = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' data:; img-src data:; "
    "media-src 'self' file:"
)


def standalone_page(title: str, kind: str, data: Mapping[str, Any], summary: str) -> str:
    """A page that opens from disk without a network; module `kind` draws it, and `summary` shows without scripts."""
    style = "\n".join((WEB / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    imports = {PREFIX + name: _inline(_modules()[name]) for name in _reached(kind)}
    return _page(
        title,
        head=f'<meta http-equiv="Content-Security-Policy" content="{ALONE}">\n<style>\n{style}</style>',
        imports=imports,
        main=f"<noscript><p>{html.escape(summary)}</p><p>The rest of this page needs JavaScript.</p></noscript>",
        # "<" could end the script, so it is escaped.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        entry=kind,
    )


def served_page(title: str, kind: str) -> str:
    """A page of the viewer, which fetches its data."""
    links = [f'<link rel="stylesheet" href="/web/{name}.css">' for name in SERVED_STYLES]
    return _page(
        title,
        head="\n".join([*links, '<link rel="icon" href="/web/icon.svg">']),
        imports={PREFIX + name: f"/web/{name}.js" for name in _modules()},
        main="",
        data="null",
        entry=kind,
    )


@cache
def _modules() -> dict[str, str]:
    files = sorted(WEB.iterdir(), key=lambda file: file.name)
    return {file.name[:-3]: file.read_text(encoding="utf-8") for file in files if file.name.endswith(".js")}


@cache
def _reached(kind: str) -> list[str]:
    """The modules that draw a page: its own, and all that it imports."""
    found, waiting = {kind}, [kind]
    while waiting:
        imported = set(re.findall(rf'from "{PREFIX}(\w+)"', _modules()[waiting.pop()]))
        waiting += imported - found
        found |= imported
    return sorted(found)


def _inline(source: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()


def _page(title: str, head: str, imports: Mapping[str, str], main: str, data: str, entry: str) -> str:
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
{head}
<script type="importmap">{json.dumps({"imports": dict(imports)})}</script>
</head>
<body>
<main id="main">{main}</main>
<script type="application/json" id="data">{data}</script>
<script type="module">import "{PREFIX}{entry}";</script>
</body>
</html>
"""
