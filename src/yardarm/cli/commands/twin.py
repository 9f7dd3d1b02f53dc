"""``yardarm twin``: an arm without hardware, on a port that any program can open."""

from __future__ import annotations

import contextlib
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yardarm.cli.displays.live_view import STOP_HINT
from yardarm.cli.flags import Flags, describe, listed
from yardarm.cli.sections import gather, read_only_flags
from yardarm.config import decode
from yardarm.errors import UsageError
from yardarm.robots import ROBOTS, TELEOPERATORS
from yardarm.robots.twins import Motion, PortLink, Twin, TwinOptions, TwinPlan, joint_name, plan_twin

__all__ = ["episode_motion", "run"]

COMMAND = "twin"
SECTIONS = ("robot", "teleop")
# What the person's arm showed; or, in recordings without it, where the robot was.
RECORDED = ("action", "observation.state")


def run(words: Sequence[str]) -> int:
    """Open the port, say what it is called, and live until Ctrl-C."""
    flags = read_only_flags([_own(word) for word in words], COMMAND, lambda _: _help())
    if flags is None:
        return 0
    plan = _plan(flags)
    with contextlib.ExitStack() as stack:
        twin = stack.enter_context(plan.open())
        port = twin.port
        if plan.options.link is not None:
            stack.enter_context(PortLink(plan.options.link, port))
            port = str(plan.options.link)
        _say(plan, twin, port)
        try:
            _live(plan, twin, port)
        except KeyboardInterrupt:
            print(flush=True)  # after the terminal's ^C
        finally:
            print(_summary(twin), flush=True)
    return 0


def _own(word: str) -> str:
    """``--view`` is short for ``--twin.view``."""
    name, equals, value = word.partition("=")
    return f"--twin.view{equals}{value}" if name == "--view" else word


def _plan(flags: Flags) -> TwinPlan:
    data = gather(flags)
    options: TwinOptions = decode(TwinOptions, COMMAND, data.pop(COMMAND, {}), COMMAND)
    given = [section for section in SECTIONS if section in data]
    if len(given) != 1:
        raise UsageError("which arm? Give --robot.type=so101_follower, or --teleop.type=so101_leader, one at a time")
    device: Any = data.pop(given[0])
    if data:
        raise UsageError(f"unknown option '--{next(iter(data))}'; see `yardarm {COMMAND} --help`")
    if not isinstance(device, dict):
        device = {"type": str(device)}
    motion = episode_motion(options.dataset, options.episode, options.repeat) if options.dataset else None
    return plan_twin(given[0], device, options, motion)


def episode_motion(dataset: str, number: int, repeats: bool) -> Motion:
    """What moves an arm as in an episode: the actions, or where the arm was."""
    from yardarm.datasets import find_dataset, read_metadata
    from yardarm.datasets.browsing import dimension_names, read_frames

    meta = read_metadata(find_dataset(dataset, None, episodes=[number]))
    feature = next((name for name in RECORDED if name in meta.info.features), None)
    if feature is None:
        raise UsageError(f"--twin.dataset={dataset} has neither {' nor '.join(RECORDED)}; it moves nothing")
    if not 0 <= number < len(meta.episodes):
        raise UsageError(f"--twin.episode={number}: the dataset has episodes 0 to {len(meta.episodes) - 1}")
    names = [joint_name(name.removeprefix("main_")) for name in dimension_names(meta.info.features[feature])]
    values = read_frames(meta, [meta.episodes[number]], [feature])[feature]
    times = [index / meta.fps for index in range(len(values))]
    return Motion(times, {name: values[:, column].tolist() for column, name in enumerate(names)}, repeats)


def _say(plan: TwinPlan, twin: Twin, port: str) -> None:
    kinds = sorted({motor.model for motor in twin.motors.values()})
    print(f"A twin of {twin.type}: {twin.model.description}; {len(twin.motors)} motors ({', '.join(kinds)})")
    if plan.options.unpacked:
        print("Its motors have no ids yet; run: yardarm setup-motors with the flags below")
    elif twin.calibration and plan.calibration is None:
        print(f"Its motors are calibrated; wrote {plan.calibration_file}")
    elif twin.calibration:
        print(f"Its motors have the calibration of {plan.calibration_file}")
    else:
        print("Its motors are new, so the first connect asks for a calibration; --twin.calibrated=true spares that")
    if plan.options.scene:
        print(f"On its table: {plan.options.scene}, seed {plan.options.seed}")
    if not plan.options.realtime:
        print("Its time passes only while a command lets it, such as one that records")
    if plan.motion is not None:
        print(f"A hand moves {', '.join(plan.motion.positions)} for {plan.motion.seconds:.1f} s")
    print(f"{plan.flags(port)}   {STOP_HINT}", flush=True)


def _live(plan: TwinPlan, twin: Twin, port: str) -> None:
    options = plan.options
    if options.clock == "stdin":
        for seconds in _lines():
            twin.advance(seconds)
            print(f"{twin.seconds:.3f}", flush=True)
        return
    stop = threading.Event()
    if options.view:
        until = None if options.seconds is None else lambda: stop.wait(options.seconds)
        _view(plan, twin, port, until)
    else:
        stop.wait(options.seconds)


def _view(plan: TwinPlan, twin: Twin, port: str, until: Callable[[], object] | None) -> None:
    from yardarm.viewer import Listening, serve_twin

    def say(address: str) -> None:
        print(f"Viewing it at {address}", flush=True)
        if plan.options.open:  # in a thread: a browser that runs in the terminal would block the page
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    serve_twin(twin, plan.flags(port), Listening(port=plan.options.view_port, flags="--twin.view_port"), say, until)


def _lines() -> Iterator[float]:
    """The seconds that somebody lets pass, one number per line."""
    for line in sys.stdin:
        try:
            seconds = float(line)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= 3600:
            raise UsageError(f"--twin.clock=stdin: a line must be a number of seconds, 0 to 3600, got '{line.strip()}'")
        yield seconds


def _summary(twin: Twin) -> str:
    parts = [f"lived {twin.seconds:.1f} s", f"answered {twin.requests:,} requests"]
    if injected := twin.injected:
        parts.append("injected " + ", ".join(f"{count:,} × {kind}" for kind, count in sorted(injected.items())))
    if twin.clock is not None and twin.clock.lost_s >= 0.1:
        parts.append(f"lost {twin.clock.lost_s:.1f} s because the machine was busy")
    return "; ".join(parts)


def _help() -> str:
    robots, leaders = (", ".join(registry.names()) for registry in (ROBOTS, TELEOPERATORS))
    rows: list[tuple[str, str, str]] = [
        ("--robot.type", "", f"the arm: {robots}; a pair needs two twins, one for each arm"),
        ("--teleop.type", "", f"or a leader: {leaders}"),
        ("--robot.id, --teleop.id", "", "the name of the arm: its motors have the calibration that is kept under it"),
        ("--robot.calibration_dir", "", "the folder of that calibration [LeRobot's]"),
        *describe(TwinOptions, "twin."),
        ("--view", "", "short for --twin.view"),
    ]
    return (
        "Run an arm without hardware: motors that answer the real protocol on a pseudo-terminal, moved by MuJoCo.\n"
        "Yardarm, LeRobot and any other program open its port like that of a real arm.\n\n"
        "usage: yardarm twin --robot.type=so101_follower [--flag=value …]\n\n" + listed(rows) + "\n\nexamples:\n"
        "  yardarm twin --robot.type=so101_follower --robot.id=blue --twin.calibrated=true --view\n"
        "  yardarm twin --teleop.type=so101_leader --teleop.id=red --twin.calibrated=true --twin.motion=wave.csv\n"
        "  yardarm twin --robot.type=koch_follower --twin.faults=0.02 --twin.link=/tmp/koch"
    )
