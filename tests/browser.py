"""A real browser for tests of pages: the system's Chromium, without a window."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

# A page on a busy machine may take its time; videos are rendered when they are asked for.
expect.set_options(timeout=60_000)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_browser = pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ, reason="there is no Chromium: sudo apt-get install chromium"
)


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the browser; a sandbox inside of a container is not to be had."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def open_page(browser: Browser, width: int = 1200, scheme: str = "light", refused: bool = False) -> Iterator[Page]:
    """A page whose console must stay silent, but for what a browser says by itself of answers that were `refused`."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(30_000)
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
        assert not [text for text in complaints if not (refused and re.search("40[04]|ERR_CONN", text))], complaints
    finally:
        context.close()


def wait_for_videos(page: Page, count: int = 1) -> None:
    """Until this many videos are shown, and each has its first picture."""
    expect(page.locator("video:visible")).to_have_count(count)
    for place in range(count):
        state = page.locator("video").nth(place).evaluate(FIRST_PICTURE)
        assert state is None, f"video {place} does not load: {state}"


# Waits for a picture; a video that gets none tells its state. It looks again and again, because a seek takes the
# picture away for a moment, and no event tells that the first one is back.
FIRST_PICTURE = """(video) => new Promise((done) => {
  const look = (tries) => {
    const { readyState, networkState, error, currentTime, currentSrc } = video;
    if (readyState >= 2) return done(null);
    if (error || tries === 0) return done({ readyState, networkState, error: error?.message, currentTime, currentSrc });
    setTimeout(look, 50, tries - 1);
  };
  look(2000);
})"""


# The contrast of each piece of text with what is behind it, as WCAG computes it.
CONTRASTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let own = element; own; own = own.parentElement) {
      const colour = channels(getComputedStyle(own).backgroundColor);
      if ((colour[3] ?? 1) > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const all = [...document.querySelectorAll("main *")];
  const texts = all.filter((element) => element.checkVisibility() && hasText(element));
  return texts.map((element) => {
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))];
    return { text: element.textContent.slice(0, 40), ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
  });
}"""
