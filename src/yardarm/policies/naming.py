"""One word for a policy: after ``--policy=`` or ``--against=``, in a list, or given to `yardarm.evaluate`."""

from __future__ import annotations

from pathlib import Path

from yardarm.policies.loading import ARCHITECTURES, POLICIES

__all__ = ["named_policy"]


def named_policy(word: str) -> dict[str, str]:
    """What the word says in a ``policy`` section: a `type`, the `url` of a server, or the `path` of a checkpoint.

    A known name is a type, even if a folder is called so, too. Otherwise a folder, or anything with a slash (a Hub id,
    a list of paths), is a path. The rest is a type: ``package.module:Name``, or a typo that will be reported as one.
    """
    if word in POLICIES.names() or word in ARCHITECTURES.names():
        return {"type": word}
    if "://" in word:
        return {"url": word}
    if ("/" in word and ":" not in word) or (word and Path(word).expanduser().is_dir()):
        return {"path": word}
    return {"type": word}
