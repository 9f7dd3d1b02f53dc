"""Two equally good policies: how often testing after every pair "finds" one of them to be better."""

import numpy as np
from common import DARK, GREY, PERCENT, WARM, paired_outcomes, picture, save

from yardarm.stats import PairedCounts, SequentialMcNemar, mcnemar

RATE, CORRELATION, PAIRS, LEVEL = 0.7, 0.5, 300, 0.05
PEEKING, SEQUENTIAL = 20_000, 6_000  # repetitions; the sequential test processes each pair in Python

rng = np.random.default_rng(0)
a, b = paired_outcomes(rng, (RATE, RATE), CORRELATION, (PEEKING, PAIRS))
only_a, only_b = (a & ~b).cumsum(axis=1), (b & ~a).cumsum(axis=1)

# For each number of discordant pairs: the most the loser may have won for p < 0.05; -1 if there is no such number.
few_enough, few = np.empty(PAIRS + 1, int), -1
for discordant in range(PAIRS + 1):
    while few + 1 < discordant and mcnemar(PairedCounts(only_a=few + 1, only_b=discordant - few - 1)) < LEVEL:
        few += 1
    few_enough[discordant] = few
found = np.minimum(only_a, only_b) <= few_enough[only_a + only_b]


def ever_found(every: int) -> np.ndarray:
    """The share of comparisons that have "found" a difference so far, testing after each `every` pairs."""
    looked = found & (np.arange(1, PAIRS + 1) % every == 0)
    return np.maximum.accumulate(looked, axis=1).mean(axis=0)


decided = np.zeros((SEQUENTIAL, PAIRS), bool)
for repetition in range(SEQUENTIAL):
    test = SequentialMcNemar(PAIRS, LEVEL)
    for pair in range(PAIRS):
        if test.add(bool(a[repetition, pair]), bool(b[repetition, pair])):
            decided[repetition, pair:] = True
            break

seen = np.arange(1, PAIRS + 1)
shares = {every: ever_found(every) for every in (1, 10, 50)}
sequential = decided.mean(axis=0)
figure, axes = picture(5)
labels = {1: "p < 0.05 after every pair", 10: "after every 10 pairs", 50: "after every 50 pairs"}
for (every, share), line in zip(shares.items(), ["-", "--", ":"], strict=True):
    axes.plot(seen, share, color=WARM, linestyle=line, drawstyle="steps-post")
    axes.text(PAIRS + 4, share[-1], labels[every], color=WARM, va="center")
axes.plot(seen, sequential, color=DARK, linewidth=4)
axes.text(PAIRS + 4, sequential[-1] - 0.006, "the sequential test,\nafter every pair", color=DARK, va="top")
axes.axhline(LEVEL, color=GREY, linewidth=1)
axes.text(PAIRS + 4, LEVEL + 0.003, "5%, as declared", color=GREY, va="center")
axes.set_title("Two equal policies: how often one has been “found” to be better")
axes.set_xlabel("pairs seen so far")
axes.yaxis.set_major_formatter(PERCENT)
axes.set_xlim(0, PAIRS)
axes.set_yticks([0, 0.05, 0.1, 0.15, 0.2])
axes.set_ylim(0, 0.2)
save(figure, "statistics_peeking.png")

at_the_end = found[:, -1].mean()
print(f"- one test at the end of {PAIRS} pairs: {at_the_end:.1%} false positives")
for every, share in shares.items():
    looks = "every pair" if every == 1 else f"every {every} pairs"
    print(f"- p < 0.05 after {looks}: {share[-1]:.0%} false positives by the end of {PAIRS} pairs")
print(f"- the sequential test after every pair: {sequential[-1]:.1%}")
