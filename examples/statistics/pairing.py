"""Two policies on the same episodes: who solves which, `yardarm compare`, and how many episodes pairing saves."""

import contextlib
import json
import tempfile
from pathlib import Path

import numpy as np
from common import DARK, FAINT, GREY, LIGHT, PERCENT, WARM, paired_outcomes, picture, save

from yardarm.cli import main
from yardarm.stats import Design, PairedCounts, TaskCounts, boschloo, mcnemar

EPISODES, CORRELATION = 50, 0.5
RATES = {"push-v3": (0.84, 0.66), "door-open-v3": (0.9, 0.85), "sweep-v3": (0.6, 0.55)}
LINES = {0.7: "-", 0.5: "--", 0.3: "-.", 0.0: ":"}

rng = np.random.default_rng(5)
outcomes = {task: paired_outcomes(rng, rates, CORRELATION, (EPISODES,)) for task, rates in RATES.items()}

# The strip of the first task: a column per episode.
a, b = outcomes["push-v3"]
figure, axes = picture(2.7)
for row, (solved, other, colour) in enumerate([(a, b, DARK), (b, a, WARM)]):
    colours = np.where(solved & ~other, colour, np.where(solved, LIGHT, FAINT))
    axes.bar(range(1, EPISODES + 1), 0.85, bottom=-row, color=colours, width=0.85)
counts = PairedCounts.of(zip(a, b, strict=True))
axes.set_yticks([0.42, -0.58], [f"A: {a.sum()} solved", f"B: {b.sum()} solved"])
axes.set_xticks([1, 10, 20, 30, 40, 50])
axes.set_xlabel("episode: the same seed, the same initial state for both")
axes.set_xlim(0.3, EPISODES + 0.7)
axes.spines[["left", "bottom"]].set_visible(False)
axes.tick_params(length=0)
key = [("both", counts.both, LIGHT), ("only A", counts.only_a, DARK), ("only B", counts.only_b, WARM)]
for place, (name, count, colour) in enumerate([*key, ("neither", counts.neither, FAINT)]):
    axes.bar(1 + 11 * place, 0.42, bottom=1.25, color=colour, width=0.85)
    axes.text(2.1 + 11 * place, 1.43, f"{name}: {count}", va="center")
save(figure, "statistics_pairs.png")

# Power against the number of episodes.
figure, axes = picture(4.6)
numbers = np.arange(20, 401, 5)
for correlation, line in LINES.items():
    powers = [Design(0.7, 0.1, correlation).power_with(int(number)) for number in numbers]
    axes.plot(numbers, powers, color=DARK, linestyle=line, label=f"same episodes, correlation {correlation:g}")
powers = [Design(0.7, 0.1).power_with(int(number)) for number in numbers]
axes.plot(numbers, powers, color=WARM, label="different episodes")
axes.axhline(0.8, color=GREY, linewidth=1)
axes.text(398, 0.79, "80%, the usual target", color=GREY, ha="right", va="top", fontsize=13)
axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.02), fontsize=13)
axes.set_title("Chance of detecting that 80% is better than 70%")
axes.set_xlabel("episodes of each policy")
axes.yaxis.set_major_formatter(PERCENT)
axes.set_ylim(0, 1)
axes.set_xlim(0, 400)
save(figure, "statistics_power.png")

# The same outcomes as files, compared by `yardarm compare`.
with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    for policy, name in enumerate(["act_a", "act_b"]):
        per_task = [
            {
                "task_group": task,
                "task_id": 0,
                "task_name": task,
                "metrics": {
                    "successes": pair[policy].tolist(),
                    "seeds": list(range(1000, 1000 + EPISODES)),
                    "episode_indices": list(range(EPISODES)),
                },
            }
            for task, pair in outcomes.items()
        ]
        Path(name).mkdir()
        Path(name, "eval_info.json").write_text(json.dumps({"per_task": per_task}))
    main(["compare", "act_a", "act_b"])

unpaired = boschloo(TaskCounts(int(a.sum()), EPISODES), TaskCounts(int(b.sum()), EPISODES))
print(
    f"The picture's 50 pairs have p = {mcnemar(counts):.3f}. The same rates from different episodes, "
    f"{a.sum()}/50 and {b.sum()}/50, have p = {unpaired:.3f} (Boschloo)."
)
