"""Lays out many small pictures on one sheet, each with its caption."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

__all__ = ["contact_sheet"]

PICTURE = 192
MARGIN = 8
FONT_SIZE = 12
LINE = 15
LETTERS_PER_LINE = 30
BACKGROUND, INK = (255, 255, 255), (32, 32, 32)


def contact_sheet(pictures: Sequence[tuple[np.ndarray, str]], columns: int = 5) -> Image.Image:
    """Lay pictures out in rows, with their captions below them."""
    captions = [textwrap.wrap(caption, LETTERS_PER_LINE) for _, caption in pictures]
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    cell = PICTURE + MARGIN + LINE * max(len(lines) for lines in captions)
    size = (MARGIN + columns * (PICTURE + MARGIN), MARGIN + rows * (cell + MARGIN))
    sheet = Image.new("RGB", size, BACKGROUND)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(FONT_SIZE)
    for place, ((picture, _), lines) in enumerate(zip(pictures, captions, strict=True)):
        left = MARGIN + place % columns * (PICTURE + MARGIN)
        top = MARGIN + place // columns * (cell + MARGIN)
        sheet.paste(_fitted(picture), (left, top))
        for number, line in enumerate(lines):
            pen.text((left, top + PICTURE + MARGIN // 2 + number * LINE), line, INK, font)
    return sheet


def _fitted(picture: np.ndarray) -> Image.Image:
    """The whole picture, scaled to fit a square."""
    image = ImageOps.contain(Image.fromarray(picture), (PICTURE, PICTURE), Image.Resampling.LANCZOS)
    square = Image.new("RGB", (PICTURE, PICTURE), BACKGROUND)
    square.paste(image, ((PICTURE - image.width) // 2, (PICTURE - image.height) // 2))
    return square
