"""How a process that loads data starts, and who may stop it.

    a terminal, Slurm, … ── SIGTERM to all ──┬──▶ training: finishes its step, writes a checkpoint,
                                             │              then ends its loaders ─┐
                                             └──▶ loader: not from its training    │
                                                          ◀── SIGTERM, or no more ─┘
                                                              batches are wanted

A loader that ended on its own would break the step that the training wants to finish.
"""

from __future__ import annotations

import os
import signal
import threading

import torch

__all__ = ["begin_loading"]

FOR_ALL = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def begin_loading(worker: int) -> None:
    """Called by torch in each process of a loader."""
    torch.set_num_threads(1)
    if not hasattr(signal, "sigwaitinfo"):  # macOS does not say who has sent a signal
        for own in FOR_ALL:
            signal.signal(own, signal.SIG_IGN)
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, FOR_ALL)
    threading.Thread(target=_heed, args=(os.getppid(),), daemon=True).start()


def _heed(training: int) -> None:
    while signal.sigwaitinfo(FOR_ALL).si_pid != training:
        pass
    os._exit(0)
