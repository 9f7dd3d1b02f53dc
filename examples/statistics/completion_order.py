"""Eight workers, and successes that end early: the episodes finished so far contain too many successes."""

import numpy as np
from common import DARK, GREY, PERCENT, WARM, picture, save

RATE, EPISODES, WORKERS, REPETITIONS = 0.6, 100, 8, 20_000
LONGEST = 500

rng = np.random.default_rng(0)
success = rng.random((REPETITIONS, EPISODES)) < RATE
steps = np.where(success, rng.integers(60, 101, success.shape), LONGEST)

# Each episode, in the planned order, goes to the first free worker.
free_at = np.zeros((REPETITIONS, WORKERS))
finished_at = np.empty(success.shape)
all_runs = np.arange(REPETITIONS)
for episode in range(EPISODES):
    worker = free_at.argmin(axis=1)
    free_at[all_runs, worker] += steps[:, episode]
    finished_at[:, episode] = free_at[all_runs, worker]

as_finished = np.take_along_axis(success, finished_at.argsort(axis=1, kind="stable"), axis=1)
counted = np.arange(1, EPISODES + 1)
curves = {
    "counted as they finish": (as_finished.cumsum(axis=1) / counted, WARM, "#f6d3bb"),
    "counted in the planned order": (success.cumsum(axis=1) / counted, DARK, "#cfe3f4"),
}

figure, panels = picture(4.6, columns=2, sharey=True)
for axes, (title, (rates, colour, light)) in zip(panels, curves.items(), strict=True):
    low, high = np.quantile(rates, [0.025, 0.975], axis=0)
    axes.fill_between(counted, low, high, color=light, linewidth=0)
    axes.axhline(RATE, color=GREY, linestyle="--", linewidth=1.5)
    axes.plot(counted, rates.mean(axis=0), color=colour, linewidth=3.5)
    axes.set_title(title, color=colour)
    axes.set_xlabel("episodes counted so far")
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylim(0, 1.01)
    axes.set_xlim(1, EPISODES)
    axes.text(98, 0.03, "line: mean, band: 95% of all runs", color=GREY, ha="right", fontsize=13)
panels[0].set_ylabel("success rate so far")
panels[0].text(98, RATE - 0.02, "the truth: 60%", color=GREY, ha="right", va="top", fontsize=13)
save(figure, "statistics_completion_order.png")

wrong, right = (rates.mean(axis=0) for rates, _, _ in curves.values())
for episodes in (10, 25, 50, 75):
    print(
        f"- after {episodes} episodes: {wrong[episodes - 1]:.0%} on average as they finish, {right[episodes - 1]:.0%} "
        "in the planned order"
    )
