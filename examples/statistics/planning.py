"""How many episodes it takes to detect a difference: the table on the statistics page."""

from common import markdown

from yardarm.stats import Design

CORRELATION = 0.5
SITUATIONS = {
    "50%, and the other is better": (0.5, 1),
    "70%, and the other is better": (0.7, 1),
    "90%, and the other is worse": (0.9, -1),
}
GAPS = (0.05, 0.1, 0.2)

rows = []
for situation, (baseline, sign) in SITUATIONS.items():
    cells = [situation]
    for gap in GAPS:
        same, other = (Design(baseline, sign * gap, correlation).episodes() for correlation in (CORRELATION, None))
        cells.append(f"{same:,} ({other:,})")
    rows.append(cells)
print(markdown(("you have", *(f"{100 * gap:.0f} points" for gap in GAPS)), rows))
