"""How often `--eval.stop=decided` is right or wrong, and how much it saves: the table on the statistics page."""

import numpy as np
from common import markdown, paired_outcomes

from yardarm.stats import Design, SequentialMcNemar

BASELINE, CORRELATION, LEVEL = 0.7, 0.5, 0.05
MAXIMA, GAPS = (50, 100, 200, 500), (0.0, 0.05, 0.1, 0.2)

rng = np.random.default_rng(0)
rows = []
largest = {}
for gap in GAPS:
    repetitions = 2_000 if gap else 4_000  # false positives are rare, so counting them takes more repetitions
    for maximum in MAXIMA:
        a, b = paired_outcomes(rng, (BASELINE + gap, BASELINE), CORRELATION, (repetitions, maximum))
        better, used, differences = [], [], []
        for outcomes_a, outcomes_b in zip(a.tolist(), b.tolist(), strict=True):
            test = SequentialMcNemar(maximum, LEVEL)
            for pair in zip(outcomes_a, outcomes_b, strict=True):
                if test.add(*pair):
                    break
            better.append(test.better)
            used.append(test.looks)
            differences.append((2 * test.wins_a - test.discordant) / test.looks)
        found_a, found_b = (round(better.count(who) / repetitions, 3) for who in ("a", "b"))
        at_the_end = Design(BASELINE, gap, CORRELATION).power_with(maximum)
        mean = float(np.mean(used))
        rows.append(
            [
                f"{100 * gap:.0f} points",
                str(maximum),
                *(f"{share:.1%}" for share in (found_a, found_b, 1 - found_a - found_b)),
                f"{mean:.0f}",
                f"{1 - mean / maximum:.0%}",
                f"{at_the_end:.1%}",
            ]
        )
        if gap == 0.1:
            decided = [one for one, who in zip(differences, better, strict=True) if who == "a"]
            largest[maximum] = float(np.mean(decided))

header = ("A − B", "at most", "A is better", "B is better", "not decided", "pairs used", "saved", "one test at the end")
print(markdown(header, rows))
print(
    f"\nIf A is 10 points better and the test stops early, the difference looks larger than it is: on average "
    f"{100 * largest[100]:.0f} points with at most 100 pairs, {100 * largest[500]:.0f} points with at most 500."
)
