"""One run of ten tasks, and the three intervals for its success rate."""

import numpy as np
from common import markdown

from yardarm.stats import TaskCounts, bootstrap_mean, clopper_pearson, clustered, pooled, stratified, wilson

EPISODES = 20
SOLVED = (20, 20, 19, 18, 17, 15, 14, 12, 9, 4)

tasks = [TaskCounts(solved, EPISODES) for solved in SOLVED]
meanings = {
    pooled: "these tasks, with all episodes pooled",
    stratified: "exactly these tasks",
    clustered: "new tasks like these",
}
rows = []
for method, meaning in meanings.items():
    interval = method(tasks)
    flag = f"`--eval.over_tasks={method.__name__}`"
    rows.append((flag, meaning, f"{interval.low:.1%} – {interval.high:.1%}", f"± {100 * interval.half_width:.1f}"))
print(f"Ten tasks with {', '.join(map(str, SOLVED))} of {EPISODES} solved: {sum(SOLVED)}/{10 * EPISODES} in total.\n")
print(markdown(("flag", "holds for", "95% interval", "points"), rows))

approximate, exact = wilson(15, EPISODES), clopper_pearson(15, EPISODES)
print(
    f"\nFor 15/20, Wilson gives {approximate.low:.1%} – {approximate.high:.1%} and Clopper–Pearson {exact.low:.1%} – "
    f"{exact.high:.1%}."
)

# Most episodes end after about 80 steps; failures last the full 500.
steps = np.where(np.arange(50) < 40, np.random.default_rng(0).integers(60, 101, 50), 500)
interval = bootstrap_mean([steps])
print(
    f"50 episodes, 40 of about 80 steps and 10 of 500, have a mean of {steps.mean():.0f} steps, with an interval from "
    f"{interval.low:.0f} to {interval.high:.0f}."
)
