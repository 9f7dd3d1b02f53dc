"""Eight workers, and successes that end early: what has finished so far has too many successes."""

import numpy as np
from common import DARK, GREY, PERCENT, WARM, picture, save

RATE, EPISODES, WORKERS, REPETITIONS = 0.6, 100, 8, 20_000
LONGEST = 500

rng = np.random.default_rng(0)
success = rng.random((REPETITIONS, EPISODES)) < RATE
steps = np.where(success, rng.integers(60, 101, success.shape), LONGEST)

# Each episode, in the planned order, goes to the worker that is free first.
free_at = np.zeros((REPETITIONS, WORKERS))
finished_at = np.empty(success.shape)
everyone = np.arange(REPETITIONS)
for episode in range(EPISODES):
    worker = free_at.argmin(axis=1)
    free_at[everyone, worker] += steps[:, episode]
    finished_at[:, episode] = free_at[everyone, worker]

as_finished = np.take_along_axis(success, finished_at.argsort(axis=1, kind="stable"), axis=1)
so_many = np.arange(1, EPISODES + 1)
courses = {
    "counted as they finish": (as_finished.cumsum(axis=1) / so_many, WARM, "#f6d3bb"),
    "counted in the planned order": (success.cumsum(axis=1) / so_many, DARK, "#cfe3f4"),
}

figure, panels = picture(4.6, columns=2, sharey=True)
for axes, (title, (rates, colour, light)) in zip(panels, courses.items(), strict=True):
    low, high = np.quantile(rates, [0.025, 0.975], axis=0)
    axes.fill_between(so_many, low, high, color=light, linewidth=0)
    axes.axhline(RATE, color=GREY, linestyle="--", linewidth=1.5)
    axes.plot(so_many, rates.mean(axis=0), color=colour, linewidth=3.5)
    axes.set_title(title, color=colour)
    axes.set_xlabel("episodes counted so far")
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylim(0, 1.01)
    axes.set_xlim(1, EPISODES)
    axes.text(98, 0.03, "line: mean, band: 95% of all runs", color=GREY, ha="right", fontsize=13)
panels[0].set_ylabel("success rate so far")
panels[0].text(98, RATE - 0.02, "the truth: 60%", color=GREY, ha="right", va="top", fontsize=13)
save(figure, "statistics_completion_order.png")

wrong, right = (rates.mean(axis=0) for rates, _, _ in courses.values())
for seen in (10, 25, 50, 75):
    print(
        f"- after {seen} episodes: {wrong[seen - 1]:.0%} on average as they finish, {right[seen - 1]:.0%} in the "
        "planned order"
    )
