"""Evaluate policies from Python. No `__main__` guard is needed, and the results are also on disk."""

from my_policy import HoverPolicy

import yardarm

expert = yardarm.evaluate("expert", ["reach-v3", "push-v3"], n_episodes=5, output_dir="outputs/example-expert")
hover = yardarm.evaluate(HoverPolicy(height=0.2), "reach-v3", n_episodes=5, output_dir="outputs/example-hover")

for name, run in (("expert", expert), ("hover", hover)):
    for task in run.tasks:
        counts = task.counts
        print(
            f"{name} on {task.task.name}: {counts.successes}/{counts.episodes} solved, "
            f"95% interval {counts.interval.low:.0%} to {counts.interval.high:.0%}"
        )
