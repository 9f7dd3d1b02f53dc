"""Two equally good methods with five training seeds each: comparing single checkpoints "finds" differences."""

import numpy as np
from common import DARK, GREY, PERCENT, WARM, outcomes_by_difficulty, picture, save

from yardarm.stats import PairedCounts, mcnemar, method_difference

MEAN, SPREAD, SEEDS, SHARED = 0.75, 0.05, 5, 0.6
NUMBERS, REPETITIONS, LEVEL = (25, 50, 100, 200, 400), 2_000, 0.05


def found(rng: np.random.Generator, gap: float, episodes: int) -> tuple[bool, bool, bool]:
    """Whether a difference is found between one seed of each, between all seeds pooled, and between the methods."""
    rates = rng.normal(MEAN, SPREAD, 2 * SEEDS).clip(0.02, 0.98)
    rates[:SEEDS] += gap
    outcomes = outcomes_by_difficulty(rng, rates.clip(0.02, 0.98), episodes, SHARED)
    a, b = outcomes[:SEEDS], outcomes[SEEDS:]
    p_values = [
        mcnemar(PairedCounts.of(zip(a[0].tolist(), b[0].tolist(), strict=True))),
        mcnemar(PairedCounts.of(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))),
        method_difference(a.astype(float), b.astype(float)).p_value,
    ]
    return tuple(p_value < LEVEL for p_value in p_values)


rng = np.random.default_rng(0)
shares = np.array([np.mean([found(rng, 0.0, n) for _ in range(REPETITIONS)], axis=0) for n in NUMBERS])

figure, axes = picture(4.6)
axes.axhline(LEVEL, color=GREY, linewidth=1)
axes.text(130, LEVEL + 0.012, "5%, as declared", color=GREY, fontsize=13)
curves = [
    (shares[:, 0], "one checkpoint\nof each method", WARM, "s--"),
    (shares[:, 2], "five seeds of each,\nas methods", DARK, "o-"),
]
for share, label, colour, line in curves:
    axes.plot(NUMBERS, share, line, markersize=8, color=colour)
    axes.text(NUMBERS[-1] * 1.06, share[-1], label, color=colour, va="center")
axes.set_xscale("log")
axes.set_xticks(NUMBERS, [str(number) for number in NUMBERS])
axes.minorticks_off()
axes.set_ylim(0, None)
axes.yaxis.set_major_formatter(PERCENT)
axes.set_xlabel("episodes of each checkpoint")
axes.set_title("Two equal methods: how often a difference is “found”")
save(figure, "statistics_training_seeds.png")

for number, (one, together, methods) in zip(NUMBERS, shares, strict=True):
    if number in (50, 200):
        print(
            f"With {number} episodes, one checkpoint of each is found to differ {one:.0%} of the time, the "
            f"five of each pooled {together:.0%}, and the methods {methods:.1%}."
        )
better = np.mean([found(rng, 0.1, 200)[2] for _ in range(REPETITIONS)])
print(f"If one method is 10 points better, five seeds of each and 200 episodes detect it {better:.0%} of the time.")
