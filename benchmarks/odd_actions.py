"""Counts the true and false alarms of the check for odd actions, on healthy policies and on planted faults.

git show 6c1035b:src/yardarm/evaluation/conventions.py > /tmp/before.py
python benchmarks/odd_actions.py --runs=/tmp/odd --before=/tmp/before.py

Plays the runs that are missing in the folder, which takes a quarter of an hour, and judges every run with the current
check and with an earlier one.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from metaworld.policies import ENV_POLICY_MAP

import yardarm
from yardarm.evaluation.conventions import odd_actions
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.policies.shipped import mt10_act
from yardarm.results import RunFolder, RunResult
from yardarm.tasks.metaworld import MetaworldConfig

# The tasks of MT10, and others in which the gripper matters.
MT10 = (
    *("reach-v3", "push-v3", "pick-place-v3", "door-open-v3", "drawer-open-v3", "drawer-close-v3"),
    *("button-press-topdown-v3", "peg-insert-side-v3", "window-open-v3", "window-close-v3"),
)
OTHERS = ("assembly-v3", "basketball-v3", "bin-picking-v3", "hammer-v3", "shelf-place-v3", "sweep-v3")
# Used only after the check was final.
HELD_OUT = (
    *("box-close-v3", "coffee-pull-v3", "dial-turn-v3", "disassemble-v3", "faucet-open-v3", "handle-pull-v3"),
    *("lever-pull-v3", "pick-out-of-hole-v3", "plate-slide-v3", "stick-push-v3"),
)
EPISODES, STEPS = 3, 150

Change = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
"""Turns an expert's action, its observation and the episode's generator into the action that is played."""


class Changed:
    """An expert with changed actions; not marked as scripted, so that it is judged like a learned policy."""

    wants = ObservationSpec(inputs=("observation.environment_state",))
    place = "host"

    def __init__(self, name: str, change: Change) -> None:
        self.id, self._change = name, change

    def start(self, episode: Any) -> tuple[Any, np.random.Generator]:
        return ENV_POLICY_MAP[episode.task.name](), np.random.default_rng(episode.seed)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        return [ActionChunk(self._action(request)[None]) for request in requests]

    def _action(self, request: Request) -> np.ndarray:
        (expert, rng), seen = request.state, request.observation["observation.environment_state"]
        return np.asarray(self._change(np.asarray(expert.get_action(seen), float), seen, rng), float)


def clipped(action: np.ndarray) -> np.ndarray:
    return np.clip(action, -1, 1)


def noisy(scale: float) -> Change:
    return lambda action, _, rng: clipped(action + scale * rng.normal(size=4))


def gripper(to: Callable[[float], float]) -> Change:
    return lambda action, *_: np.append(clipped(action)[:3], to(float(clipped(action)[3])))


def arm(to: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda action, *_: np.append(to(clipped(action)[:3]), clipped(action)[3])


WELL: dict[str, Change] = {
    "expert": lambda action, *_: clipped(action),
    "expert, not clipped": lambda action, *_: action,
    "noisy expert 0.3": noisy(0.3),
    "noisy expert 0.6": noisy(0.6),
    "noisy expert 1.0": noisy(1.0),
    "noisy expert 1.0, not clipped": lambda action, _, rng: action + rng.normal(size=4),
    "slow expert": arm(lambda move: 0.3 * move),
    "half-hearted expert": lambda action, *_: 0.5 * clipped(action),
    "random": lambda action, _, rng: rng.uniform(-1, 1, 4),
}
FAULTY: dict[str, Change] = {
    "gripper the other way round": gripper(lambda value: -value),
    "gripper 0 to 1": gripper(lambda value: (value + 1) / 2),
    "gripper 0 to 255": gripper(lambda value: 127.5 * (value + 1)),
    "gripper in metres, 0 to 0.08": gripper(lambda value: 0.04 * (value + 1)),
    "no gripper": gripper(lambda value: 0.0),
    "degrees for radians": arm(lambda move: 57.3 * move),
    "radians for degrees": arm(lambda move: move / 57.3),
    "millimetres for metres": arm(lambda move: 1000 * move),
    "x and y swapped": arm(lambda move: move[[1, 0, 2]]),
    "axes in reverse": lambda action, *_: clipped(action)[::-1],
    "gripper first": lambda action, *_: np.roll(clipped(action), 1),
    "z the other way round": arm(lambda move: move * [1, 1, -1]),
    "x is missing": arm(lambda move: move * [0, 1, 1]),
    "places for moves": lambda action, seen, _: np.append(seen[:3], clipped(action)[3]),
    "one action for ever": lambda action, *_: np.array([0.1, 0.2, -0.1, 0.3]),
    "nothing at all": lambda action, *_: np.zeros(4),
}


def learned(noise: float) -> Any:
    """The shipped policy with noise of this relative size on its weights, as if it had learned less."""
    policy = mt10_act(device="cpu")
    torch.manual_seed(0)
    with torch.no_grad():
        for weights in policy.network.parameters():
            weights.add_(noise * weights.abs().mean() * torch.randn_like(weights))
    return policy


def not_unnormalised() -> Any:
    """The shipped policy without its last step: its actions have mean 0 and deviation 1."""
    policy = mt10_act(device="cpu")
    policy.postprocessor = policy.postprocessor.normalizing({})
    return policy


@dataclass(frozen=True)
class Case:
    """A policy, whether its actions are right, and the tasks that it plays."""

    name: str
    is_well: bool
    make: Callable[[], Any]
    tasks: tuple[str, ...]
    seed: int = 1000

    def play(self, folder: Path) -> RunResult:
        """Play it, or read its results if the folder already has them."""
        env = MetaworldConfig(task=",".join(self.tasks), episode_length=STEPS)
        policy = self.make()
        place = folder / f"{self.name.replace(' ', '_')}_{self.seed}"
        return yardarm.evaluate(policy, env, n_episodes=EPISODES, seed=self.seed, output_dir=place)


def held_out_cases() -> Iterator[Case]:
    for case in changed_experts(HELD_OUT):
        yield replace(case, seed=5000)


def changed_experts(tasks: tuple[str, ...]) -> Iterator[Case]:
    for is_well, changes in ((True, WELL), (False, FAULTY)):
        for name, change in changes.items():
            yield Case(name, is_well, lambda name=name, change=change: Changed(name, change), tasks)


def cases() -> Iterator[Case]:
    yield from changed_experts((*MT10, *OTHERS))
    for noise in (0.0, 0.1, 0.3, 1.0):
        yield Case(f"mt10-act, weights disturbed by {noise:g}", True, lambda noise=noise: learned(noise), MT10)
    yield Case("mt10-act, not unnormalised", False, not_unnormalised, MT10)


Judge = Callable[[RunResult, RunFolder], tuple[str, ...]]


@dataclass(frozen=True)
class Verdict:
    """The warnings about a run, or about one of its tasks as if it had been played alone."""

    case: Case
    is_whole: bool
    solves: bool
    before: tuple[str, ...]
    after: tuple[str, ...]


def judged(case: Case, folder: Path, before: Judge) -> Iterator[Verdict]:
    result = case.play(folder)
    whole = [(True, result), *((False, replace(result, tasks=(task,))) for task in result.tasks)]
    for is_whole, run in whole:
        solves = any(record.success for task in run.tasks for record in task.episodes)
        files = RunFolder(result.path)
        yield Verdict(case, is_whole, solves, before(run, files), odd_actions(run, files))


KINDS = {
    (True, True): "well, and solves some of it: a warning is false",
    (True, False): "well, but fails: a warning is false",
    (False, True): "faulty, but solves some of it: nothing to warn of",
    (False, False): "faulty, and fails: a warning is right",
}


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """The number of warnings, by whether they are right."""
    lines = ["| policy | runs | warned before | warned now |", "|---|---|---|---|"]
    for (is_well, solves), name in KINDS.items():
        own = [verdict for verdict in verdicts if (verdict.case.is_well, verdict.solves) == (is_well, solves)]
        before, after = sum(bool(verdict.before) for verdict in own), sum(bool(verdict.after) for verdict in own)
        lines.append(f"| {name} | {len(own)} | {before} | {after} |")
    return lines


def by_case(verdicts: Sequence[Verdict]) -> list[str]:
    lines = [
        "| policy | tasks failed | warned before | warned now | tasks solved | before | now |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(verdict.case for verdict in verdicts):
        counts = Counter[str]()
        for verdict in verdicts:
            if verdict.case == case:
                kind = "solved" if verdict.solves else "failed"
                counts[kind] += 1
                counts[f"{kind} before"] += bool(verdict.before)
                counts[f"{kind} now"] += bool(verdict.after)
        row = [counts[f"{kind}{when}"] for kind in ("failed", "solved") for when in ("", " before", " now")]
        lines.append(f"| {'' if case.is_well else 'FAULTY: '}{case.name} | {' | '.join(map(str, row))} |")
    return lines


def read_judge(path: Path) -> Judge:
    spec = importlib.util.spec_from_file_location("before", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.odd_actions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="the folder for the runs")
    parser.add_argument("--before", type=Path, required=True, help="another version of conventions.py")
    parser.add_argument("--held_out", action="store_true", help="use other tasks and seeds")
    options = parser.parse_args()
    before = read_judge(options.before)
    played = held_out_cases() if options.held_out else cases()
    verdicts = [verdict for case in played for verdict in judged(case, options.runs, before)]
    alone = [verdict for verdict in verdicts if not verdict.is_whole]
    print("## Each task as a separate run\n", *table(alone), sep="\n")
    print("\n## All tasks in one run\n", *table([verdict for verdict in verdicts if verdict.is_whole]), sep="\n")
    print("\n## By policy, each task as a separate run\n", *by_case(alone), sep="\n")
    print("\n## The warnings now, for all tasks in one run\n")
    for verdict in verdicts:
        if verdict.is_whole and verdict.after:
            print(f"- {verdict.case.name}: {'; '.join(verdict.after)}")


if __name__ == "__main__":
    main()
