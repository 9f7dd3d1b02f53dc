"""``yardarm eval --view``: the viewer beside an evaluation, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

__all__ = ["LiveView"]

CLOSE_WITHIN_S = 10.0


class LiveView:
    """Opens the page of a run as soon as it has a folder, and closes it in the end."""

    def __init__(self, say: Callable[[str], None], page: str = "/run?run=.") -> None:
        self._say = say
        self._page = page
        self._process: subprocess.Popen[str] | None = None

    def open(self, run: Path) -> None:
        """Start the viewer; the address is said when it answers, and the evaluation does not wait for that."""
        command = [
            sys.executable,
            "-P",
            "-m",
            "yardarm",
            "view",
            str(run),
            f"--page={self._page}",
            "--until_stdin_closes=true",
        ]
        # Its standard input closes when this process ends, however it does. Ctrl-C is for the evaluation alone.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        threading.Thread(target=self._pass_on, args=(self._process,), daemon=True).start()

    def stay(self) -> None:
        """Keep the page until Ctrl-C."""
        if self._process is None or self._process.poll() is not None:
            return
        self._say("The page stays until you press Ctrl-C.")
        try:
            self._process.wait()
        except KeyboardInterrupt:
            self._say("")

    def __enter__(self) -> LiveView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(CLOSE_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _pass_on(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._say(line.rstrip().removesuffix("(Ctrl-C ends it)").rstrip())
