"""Six policies on the same 150 episodes, and the letters that show which of them differ significantly."""

from itertools import combinations, pairwise

import numpy as np
from common import DARK, GREY, PERCENT, markdown, outcomes_by_difficulty, picture, save

from yardarm.stats import PairedCounts, holm, letters, mcnemar, wilson

RATES = np.array([0.93, 0.89, 0.82, 0.76, 0.70, 0.45])
EPISODES, LEVEL = 150, 0.05

outcomes = outcomes_by_difficulty(np.random.default_rng(0), RATES, EPISODES, shared=0.6)
outcomes = outcomes[np.argsort(-outcomes.sum(axis=1), kind="stable")]  # the best first
names = [f"policy {number}" for number in range(1, len(RATES) + 1)]

pairs = list(combinations(range(len(names)), 2))
p_values = [mcnemar(PairedCounts.of(zip(outcomes[i], outcomes[j], strict=True))) for i, j in pairs]
adjusted = holm(p_values)
own = letters(len(names), {pair for pair, p_value in zip(pairs, adjusted, strict=True) if p_value < LEVEL})

figure, axes = picture(5.6)
rows = []
for place, name in enumerate(names):
    solved = int(outcomes[place].sum())
    interval = wilson(solved, EPISODES)
    axes.plot([place, place], [interval.low, interval.high], color=DARK, linewidth=3)
    axes.plot(place, solved / EPISODES, "o", color=DARK, markersize=10)
    axes.text(place + 0.1, solved / EPISODES, f"{solved / EPISODES:.0%}", va="center")
    rows.append((name, f"{solved}/{EPISODES}", f"{interval.low:.1%} – {interval.high:.1%}", own[place]))
columns = sorted(set("".join(own)))
for place, name in enumerate(names):
    axes.text(place, 0.235, name, ha="center", color=GREY)
    for row, letter in enumerate(columns):
        if letter in own[place]:
            axes.text(place, 0.17 - 0.075 * row, letter, ha="center", va="center", fontsize=20, weight="bold")
for row, letter in enumerate(columns):  # a bar joins policies that share a letter
    members = [place for place in range(len(names)) if letter in own[place]]
    height = 0.165 - 0.075 * row
    for left, right in pairwise(members):
        axes.plot([left + 0.15, right - 0.15], [height, height], color=GREY, linewidth=2)
axes.axhline(0.3, color=GREY, linewidth=1)
axes.set_yticks([0.4, 0.6, 0.8, 1.0])
axes.yaxis.set_major_formatter(PERCENT)
axes.set_xticks([])
axes.spines[["bottom", "left"]].set_visible(False)
axes.set_ylim(0.13 - 0.075 * (len(columns) - 1), 1.03)
axes.set_xlim(-0.4, len(names) - 0.4)
axes.set_title("Six policies on the same 150 episodes, with 95% intervals")
save(figure, "statistics_letters.png")

print(markdown(("policy", "k/n", "95% interval", "letters"), rows))
plain, corrected = sum(p < LEVEL for p in p_values), sum(p < LEVEL for p in adjusted)
print(
    f"\nOf the {len(pairs)} comparisons, {plain} have p < 0.05; {corrected} of them still do after Holm's correction."
)
