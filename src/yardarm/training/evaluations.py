"""Evaluates weights during a training, in separate processes: the training continues meanwhile, or waits."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.results import Rate, RunFolder, TrainingFolder, read_result
from yardarm.training.checkpoints import Checkpoint
from yardarm.training.config import TrainConfig
from yardarm.training.config_file import config_to_data

__all__ = ["Evaluations", "evaluation_point"]

SNAPSHOTS = "snapshots"
STOP_WITHIN_S = 30.0
# Behind the training, where both want the same core.
NICE = 10
PR_SET_PDEATHSIG = 1
# What is for the training, and no flag of `yardarm eval`.
OWN = ("background", "cores", "device")

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class _Due:
    step: int
    policy: Path
    is_snapshot: bool


class Evaluations:
    """A queue of weights to evaluate, one run of ``yardarm eval`` at a time."""

    def __init__(self, config: TrainConfig, folder: TrainingFolder, device: str, workers: int, tell: Tell) -> None:
        self._config, self._folder = config, folder
        self._device, self._workers, self._tell = device, workers, tell
        self._due: deque[_Due] = deque()
        self._running: tuple[_Due, subprocess.Popen[bytes]] | None = None

    def snapshot_folder(self, step: int) -> Path:
        """Where weights lie that are no checkpoint, until they have been evaluated."""
        return self._folder.path / SNAPSHOTS / f"{step:06d}"

    def add(self, step: int, policy: Path) -> None:
        """Have weights evaluated when those before them are done."""
        self._due.append(_Due(step, policy, policy.is_relative_to(self._folder.path / SNAPSHOTS)))
        self.look()

    def take_up(self, points: Iterable[Mapping[str, Any]], upto: int) -> None:
        """Go on with what an earlier session has left unfinished, where its weights are still there."""
        done = {point["step"] for point in points if point["kind"] == "evaluation" and point["status"] == "finished"}
        every, last = self._config.options.eval_freq, self._config.options.steps
        for step in sorted({*range(every, upto + 1, every), *({last} if upto == last else ())}):
            places = (Checkpoint(self._folder.checkpoints / f"{step:06d}").policy, self.snapshot_folder(step))
            policy = next((place for place in places if place.is_dir()), None)
            if step not in done and policy is not None:
                self.add(step, policy)

    @property
    def left(self) -> int:
        """How many are not done yet."""
        return len(self._due) + (self._running is not None)

    def look(self) -> None:
        """Check whether the running evaluation has ended, and start the next one."""
        if self._running is not None and self._running[1].poll() is not None:
            self._end(*self._running)
            self._running = None
        if self._running is None and self._due:
            due = self._due.popleft()
            self._running = (due, self._start(due))
            self._tell(_unfinished(due.step, self._run(due), "running"))

    def wait(self, seconds: float) -> None:
        """Wait for the running evaluation, but no longer than this many seconds."""
        if self._running is not None:
            try:
                self._running[1].wait(seconds)
            except subprocess.TimeoutExpired:
                return
        self.look()

    def stop(self) -> None:
        """Stop the running evaluation; its finished episodes are kept, and it resumes with the training."""
        if self._running is None:
            return
        _, process = self._running
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._running = None

    def _run(self, due: _Due) -> Path:
        return self._folder.evaluation(due.step)

    def _start(self, due: _Due) -> subprocess.Popen[bytes]:
        """The same command that anybody could give, so the numbers are the same."""
        run = self._run(due)
        run.parent.mkdir(parents=True, exist_ok=True)
        settings = run.with_suffix(".json")
        settings.write_text(json.dumps(self._settings(due), indent=1), encoding="utf-8")
        # -P: modules of the folder that the command is given in must not come before others, as for `yardarm` itself.
        words = [sys.executable, "-P", "-m", "yardarm", "eval", f"--config_path={settings}", f"--output_dir={run}"]
        words += [*self._config.code_flags, *self._code_flags()]
        if self._config.options.allow_mixed_versions:
            words.append("--allow_mixed_versions=true")
        with run.with_suffix(".log").open("wb") as output:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the training, which ends this itself
                preexec_fn=_stand_back if self._config.eval.background else _die_with_the_training,
            )

    def _code_flags(self) -> list[str]:
        """What code may run is said on the command line: the user of the training has typed it, or agreed to it."""
        env = self._config.env
        assert env is not None
        options = {code.option: getattr(env, code.option) for code in env.named_code()}
        flags = [f"--env.{name}={json.dumps(value) if name == 'kwargs' else value}" for name, value in options.items()]
        return [*flags, "--trust_remote_code=true"] if self._config.trust_remote_code else flags

    def _settings(self, due: _Due) -> dict[str, Any]:
        config = self._config
        assert config.env is not None
        data = config_to_data(config)
        options = {name: value for name, value in data["eval"].items() if name not in OWN}
        if not options["batch_size"]:
            options["batch_size"] = self._workers
        return {
            "policy": {"path": str(due.policy), "device": self._device, **config.loading},
            "env": data["env"],
            "eval": options,
            "seed": config.options.seed,
            "job_name": f"step_{due.step:06d}",
        }

    def _end(self, due: _Due, process: subprocess.Popen[bytes]) -> None:
        run = self._run(due)
        point = evaluation_point(due.step, run)
        if point is None:
            said = run.with_suffix(".log").read_text(errors="replace").strip().splitlines()
            problem = said[-1] if said else f"it ended with code {process.returncode}"
            self._tell({**_unfinished(due.step, run, "failed"), "problem": problem})
            return  # a resumed training tries it again
        self._tell(point)
        run.with_suffix(".log").unlink(missing_ok=True)
        run.with_suffix(".json").unlink(missing_ok=True)
        if due.is_snapshot:
            shutil.rmtree(due.policy, ignore_errors=True)


def evaluation_point(step: int, run: Path) -> dict[str, Any] | None:
    """A point of the learning curve from a run; an unfinished run gives none, since its episodes would mislead."""
    try:
        stored = read_result(RunFolder(run))
    except UsageError:
        return None
    if not stored.is_finished:
        return None
    result = stored.result
    rate = Rate.over(result.by_task(), result.uncertainty)
    tasks = {task.task.name: Rate.over([task.episodes], result.uncertainty).to_json() for task in result.tasks}
    return {
        **_unfinished(step, run, "finished"),
        **rate.to_json(),
        "confidence": result.uncertainty.confidence,
        "tasks": tasks,
    }


def _unfinished(step: int, run: Path, status: str) -> dict[str, Any]:
    return {
        "kind": "evaluation",
        "step": step,
        "status": status,
        "run": f"{run.parent.name}/{run.name}",
        "problem": None,
    }


def _stand_back() -> None:
    os.nice(NICE)
    _die_with_the_training()


def _die_with_the_training() -> None:
    """A training that was killed cannot end its evaluation: the kernel does, and what is finished is kept."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
