"""The same policy, evaluated twenty times with 50 episodes: how much its success rate varies."""

import numpy as np
from common import DARK, GREY, PERCENT, WARM, picture, save
from scipy.stats import binom

from yardarm.stats import wilson

RATE, EPISODES, TIMES = 0.85, 50, 20

# A seed with one miss, which is to be expected in twenty.
solved = np.random.default_rng(15).binomial(EPISODES, RATE, TIMES)
intervals = [wilson(successes, EPISODES) for successes in solved]
misses = [RATE not in interval for interval in intervals]

figure, axes = picture(4.6)
axes.axhline(RATE, color=GREY, linewidth=1.5, linestyle="--")
axes.text(TIMES + 0.6, RATE, f"the truth:\n{RATE:.0%}", color=GREY, va="center")
for place, (successes, interval, miss) in enumerate(zip(solved, intervals, misses, strict=True), start=1):
    colour = WARM if miss else DARK
    axes.plot([place, place], [interval.low, interval.high], color=colour, linewidth=3)
    axes.plot(place, successes / EPISODES, "D" if miss else "o", color=colour, markersize=9)
    if miss:
        axes.text(place, interval.low - 0.015, "misses", color=WARM, ha="center", va="top")
axes.set_xticks(range(1, TIMES + 1))
axes.set_xlabel(f"evaluation, {EPISODES} episodes each")
axes.set_title("Success rate of the same policy, with 95% intervals")
axes.yaxis.set_major_formatter(PERCENT)
axes.set_ylim(0.55, 1)
save(figure, "statistics_wobble.png")

lowest, highest = min(solved), max(solved)
print(
    f"The lowest of the twenty is {lowest}/{EPISODES} = {lowest / EPISODES:.0%}, the highest {highest}/{EPISODES} = "
    f"{highest / EPISODES:.0%}; intervals that miss the truth: {sum(misses)} of {TIMES}."
)
counts = np.arange(EPISODES + 1)
chances = binom.pmf(counts, EPISODES, RATE)
covered = sum(chance for k, chance in zip(counts, chances, strict=True) if RATE in wilson(int(k), EPISODES))
print(f"Over all possible evaluations, {covered:.1%} of the intervals contain the truth.")
apart = sum(chances[i] * chances[j] for i in counts for j in counts if abs(i - j) >= 2)
print(f"Two evaluations of this same policy differ by 4 points or more {apart:.0%} of the time.")
one, other = wilson(44, 50), wilson(42, 50)
print(f"44/50 has the interval {one.low:.0%} to {one.high:.0%}, and 42/50 has {other.low:.0%} to {other.high:.0%}.")
