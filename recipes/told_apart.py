"""How well does the first image of an episode tell two tasks of Meta-World apart? Cross-validated, over episodes.

MUJOCO_GL=egl python recipes/told_apart.py drawer-open-v3 drawer-close-v3          (as Meta-World starts them)
MUJOCO_GL=egl python recipes/told_apart.py drawer-open-v3 drawer-close-v3 --alike  (--env.alike=true)
"""

import argparse

import numpy as np

from yardarm.simulators.metaworld import MetaworldSimulator
from yardarm.tasks import EpisodeSpec
from yardarm.tasks.metaworld import MetaworldConfig

SIZE, FOLDS = 96, 6


def main() -> None:
    """Print the accuracy of two classifiers of images, and of one of the robot's state; 0.50 is chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs=2)
    parser.add_argument("--alike", action="store_true")
    parser.add_argument("--episodes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=200_000)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.episodes)
    (images, states), (other_images, other_states) = (starts(name, options.alike, seeds) for name in options.tasks)
    print(f"images, linear     {accuracy(linear, images, other_images):.2f}")
    print(f"images, nearest    {accuracy(nearest, images, other_images):.2f}")
    print(f"hand, linear       {accuracy(linear, states, other_states):.2f}")
    print(f"greatest difference of a pixel, same seed: {round(255 * np.abs(images - other_images).max())} of 255")


def starts(task_name: str, alike: bool, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """The first images and the robot's first states, one row for each seed."""
    world = MetaworldConfig(task=task_name, alike=alike, shadows=False, observation_height=SIZE, observation_width=SIZE)
    (task,) = world.tasks()
    simulator = MetaworldSimulator(task)
    images, states = [], []
    for index, seed in enumerate(seeds):
        simulator.reset(EpisodeSpec(task, index, seed))
        seen = simulator.observe(["observation.image", "observation.state"])
        images.append(seen["observation.image"].ravel() / 255)
        states.append(seen["observation.state"])
    simulator.close()
    return np.stack(images), np.stack(states)


def accuracy(classify, one: np.ndarray, other: np.ndarray) -> float:  # type: ignore[no-untyped-def]
    """How often left-out episodes are put to the right task; both episodes of a seed are left out together."""
    right = 0
    for left_out in np.array_split(np.random.default_rng(0).permutation(len(one)), FOLDS):
        rows = np.concatenate([np.delete(one, left_out, axis=0), np.delete(other, left_out, axis=0)])
        labels = np.repeat([-1.0, 1.0], len(rows) // 2)
        right += (classify(rows, labels, one[left_out]) < 0).sum() + (
            classify(rows, labels, other[left_out]) >= 0
        ).sum()
    return float(right / (2 * len(one)))


def linear(rows: np.ndarray, labels: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Ridge regression, solved by products of rows, of which there are fewer than pixels."""
    middle = rows.mean(axis=0)
    products = (rows - middle) @ (rows - middle).T
    ridge = 0.01 * np.trace(products) / len(rows) + 1e-12
    weights = np.linalg.solve(products + ridge * np.eye(len(rows)), labels)
    return (asked - middle) @ ((rows - middle).T @ weights)


def nearest(rows: np.ndarray, labels: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The label of the most similar row."""
    return labels[[((rows - one) ** 2).sum(axis=1).argmin() for one in asked]]


if __name__ == "__main__":
    main()
