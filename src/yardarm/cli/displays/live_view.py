"""``yardarm eval --view``: the viewer during an evaluation, in a separate process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

__all__ = ["STOP_HINT", "LiveView"]

STOP_HINT = "(Ctrl-C to stop)"
CLOSE_WITHIN_S = 10.0


class LiveView:
    """Opens a run's page as soon as the run has a folder, and closes the viewer at the end."""

    def __init__(self, say: Callable[[str], None], page: str = "/run?run=.") -> None:
        self._say = say
        self._page = page
        self._process: subprocess.Popen[str] | None = None

    def open(self, run: Path) -> None:
        """Start the viewer without waiting for it; its address is printed when it answers."""
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
        # The viewer stops when its standard input closes, however this process ends. Ctrl-C reaches only this process.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        threading.Thread(target=self._forward, args=(self._process,), daemon=True).start()

    def stay(self) -> None:
        """Keep the viewer running until Ctrl-C."""
        if self._process is None or self._process.poll() is not None:
            return
        self._say("The viewer runs until you press Ctrl-C.")
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

    def _forward(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._say(line.rstrip().removesuffix(STOP_HINT).rstrip())
