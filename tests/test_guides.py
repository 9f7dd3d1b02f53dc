"""The code in the guides works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.helpers import courses, path_with, yardarm
from yardarm.policies import policy_from_data
from yardarm.policies.remote.mapping import ActionMapping, ObservationMapping
from yardarm.tasks.metaworld import MetaworldConfig

GUIDE = Path(__file__).parents[1] / "docs" / "adding-a-benchmark.md"
LONGEST = 60


def files_of(guide: Path) -> dict[str, str]:
    """The code blocks that stand below a file's name."""
    return dict(re.findall(r"^`([\w.]+)`\n\n```\w+\n(.*?)^```", guide.read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's package, installed as its reader would, in a folder of its own."""
    source, target = tmp_path_factory.mktemp("puck-world"), tmp_path_factory.mktemp("site")
    for name, text in files_of(GUIDE).items():
        (source / name).write_text(text)
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", target, source], check=True)
    return target


@pytest.fixture
def puck(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", path_with(site))


def test_a_benchmark_takes_as_few_lines_as_the_guide_says() -> None:
    files = files_of(GUIDE)
    assert set(files) == {"puck_world.py", "puck_simulator.py", "pyproject.toml"}
    lines = (files["puck_world.py"] + files["puck_simulator.py"]).splitlines()
    code = [line for line in lines if line.strip() and not line.startswith(("import", "from"))]
    assert len(code) <= LONGEST


@pytest.mark.slow
@pytest.mark.usefixtures("puck")
def test_the_guides_benchmark_runs_and_is_pure() -> None:
    assert "far\t0\tfar\tPush the puck to the far target" in yardarm("tasks", "puck").stdout
    words = ["eval", "--policy.type=random", "--env.type=puck", "--eval.n_episodes=2"]
    answer = yardarm(*words, "--eval.videos=1", "--output_dir=run")
    assert answer.returncode == 0, answer.stderr
    assert len(list(Path("run/videos").rglob("*.mp4"))) == 2
    assert yardarm(*words, "--eval.batch_size=1", "--output_dir=alone").returncode == 0
    assert courses(Path("run")) == courses(Path("alone"))
    assert len({course["fingerprints"]["0"] for course in courses(Path("run")).values()}) == 4
    replayed = yardarm("replay", "run", "--task=far", "--episode=1", "--fps=4")
    assert "matches all" in replayed.stdout, replayed.stderr


@pytest.mark.usefixtures("puck")
def test_the_guides_benchmark_shows_what_its_features_say() -> None:
    policy = Path("looker.py")
    policy.write_text(
        "import numpy as np\n"
        "from yardarm.policies import ActionChunk, ObservationSpec\n"
        "class Looker:\n"
        "    wants = ObservationSpec(inputs=('observation.image', 'observation.state'))\n"
        "    place = 'host'\n"
        "    def start(self, episode): return None\n"
        "    def infer(self, requests):\n"
        "        states = [request.observation['observation.state'] for request in requests]\n"
        "        assert all(request.observation['observation.image'].std() > 10 for request in requests)\n"
        "        return [ActionChunk(np.tile(np.clip(5 * (s[2:] - s[:2]), -1, 1), (5, 1))) for s in states]\n"
    )
    answer = yardarm(
        "eval", "--policy.type=looker:Looker", "--env.type=puck", "--eval.n_episodes=2", "--output_dir=run"
    )
    assert answer.returncode == 0, answer.stderr
    assert "4/4" in answer.stdout


@pytest.mark.slow
def test_the_python_guides_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = re.findall(r"^```python\n(.*?)^```", (GUIDE.parent / "python.md").read_text(), re.MULTILINE | re.DOTALL)
    # What a reader sees below a line is what the comment beside it says.
    code = re.sub(r"^(\S+) +# (\w+\(.*\))$", r"assert repr(\1) == '\2', \1", "".join(blocks), flags=re.MULTILINE)
    assert code.count("assert repr(") == 2
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert answer.returncode == 0, answer.stderr
    assert "push-v3" in answer.stdout


REMOTE = Path(__file__).parents[1] / "docs" / "remote.md"


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", REMOTE.read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [text for text in blocks if containing in text]
    return found


def test_the_guides_own_model_is_served_and_evaluated(tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(block("python", "# my_model.py"))
    words = ["-m", "yardarm_serve", "--backend=my_model:MyModel", "--policy.gain=0.5", "--port=0"]
    server = subprocess.Popen([sys.executable, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        match = re.search(r"ws://\S+(?=;)", server.stderr.readline())
        assert match
        flags = ["--policy.type=remote", f"--policy.url={match[0]}", "--env.type=metaworld", "--env.task=reach-v3"]
        answer = yardarm("eval", *flags, "--eval.n_episodes=1", "--env.episode_length=30")
        assert answer.returncode == 0, answer.stderr
    finally:
        server.terminate()
        assert server.wait(10) == 0
        server.stderr.close()


def test_the_guides_mapping_is_understood() -> None:
    data = yaml.safe_load(block("yaml", "observations:"))
    policy = policy_from_data(data["policy"])
    mapping = ObservationMapping(policy.options["observations"])
    mapping.check(MetaworldConfig().tasks()[0].env.features)
    assert set(mapping.inputs) == {"observation.image", "observation.state"}
    actions = ActionMapping.parse(policy.options["actions"])
    assert actions.apply(np.zeros((2, 7), np.float32))[0].tolist() == [0, 0, 0, 1]


ARCHITECTURE = Path(__file__).parents[1] / "docs" / "adding-an-architecture.md"
TYPED = "--policy.type=tiny_policy:TINY"


@pytest.fixture(scope="module")
def toy_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few recorded episodes of two tasks, which differ in their instructions."""
    root = tmp_path_factory.mktemp("toy") / "data"
    words = ["--policy.type=toy-mover", "--env.type=toy", "--env.task=left,right", "--n_episodes=2"]
    answer = yardarm("record", *words, f"--dataset.root={root}")
    assert answer.returncode == 0, answer.stderr
    return root


def weights_of(training: str) -> bytes:
    return Path(training, "checkpoints/last/pretrained_model/model.safetensors").read_bytes()


@pytest.mark.slow
def test_the_guides_architecture_is_trained_resumed_and_evaluated_as_a_typed_module(toy_data: Path) -> None:
    Path("tiny_policy.py").write_text(files_of(ARCHITECTURE)["tiny_policy.py"])
    words = [
        "train",
        f"--dataset.root={toy_data}",
        "--policy.device=cpu",
        "--threads=1",
        "--batch_size=4",
        "--save_freq=2",
    ]
    words += ["--env.type=toy", "--env.task=left", "--eval_freq=4", "--eval.n_episodes=1"]
    whole = yardarm(*words, TYPED, "--policy.width=16", "--steps=4", "--output_dir=whole")
    assert whole.returncode == 0, whole.stderr
    assert [*Path("whole/eval").glob("*/eval_info.json")], "an evaluation beside it knows the module, too"
    assert "nothing tells the policy which one it does" not in whole.stderr + whole.stdout
    first = Path("whole/checkpoints/000002/pretrained_model/train_config.json")
    refused = yardarm("train", "--resume=true", f"--config_path={first}")
    assert refused.returncode == 2
    assert "this would run the policy 'tiny_policy:TINY', which a file names as policy.type" in refused.stderr
    expected = weights_of("whole")
    resumed = yardarm("train", "--resume=true", f"--config_path={first}", TYPED)
    assert resumed.returncode == 0, resumed.stderr
    assert weights_of("whole") == expected, "as if it had never stopped"
    policy = "--policy.path=whole/checkpoints/last/pretrained_model"
    world = ["--env.type=toy", "--env.task=left,right", "--eval.n_episodes=2"]
    unknown = yardarm("eval", policy, *world)
    assert unknown.returncode == 2
    assert "of type 'tiny', which is not installed here" in unknown.stderr
    answer = yardarm("eval", policy, TYPED, *world, "--output_dir=run")
    assert answer.returncode == 0, answer.stderr
    assert yardarm("eval", policy, TYPED, *world, "--eval.batch_size=1", "--output_dir=alone").returncode == 0
    assert courses(Path("run")) == courses(Path("alone"))


@pytest.mark.slow
def test_the_guides_architecture_is_known_by_its_name_once_it_is_installed(
    toy_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    for name, text in files_of(ARCHITECTURE).items():
        (source / name).write_text(text)
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", target, source], check=True)
    monkeypatch.setenv("PYTHONPATH", path_with(target))
    assert "act, diffusion, tiny" in yardarm("info").stdout
    words = ["--policy.type=tiny", "--policy.device=cpu", "--steps=2", "--threads=1"]
    trained = yardarm("train", *words, f"--dataset.root={toy_data}", "--output_dir=trained")
    assert trained.returncode == 0, trained.stderr
    policy = "--policy.path=trained/checkpoints/last/pretrained_model"
    answer = yardarm("eval", policy, "--env.type=toy", "--env.task=left", "--eval.n_episodes=1")
    assert answer.returncode == 0, answer.stderr
