"""Build environments for a loop of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yardarm.api.functions import api_function, options_of
from yardarm.config import fitted
from yardarm.envs import select_tasks
from yardarm.errors import SetupError, UsageError
from yardarm.tasks import BENCHMARKS, BenchmarkConfig, named_env

if TYPE_CHECKING:
    from yardarm.envs.vector import Envs

__all__ = ["make_env"]


@api_function()
def make_env(
    config: BenchmarkConfig | str,
    n_envs: int = 1,
    use_async_envs: bool = False,
    trust_remote_code: bool = False,
    **options: Any,
) -> Envs:
    """Make Gymnasium vector environments of a benchmark's tasks, ``{suite: {task_id: VectorEnv}}``, as in LeRobot.

        with yardarm.make_env("metaworld", task="reach-v3") as envs:
            observation, info = envs.only.reset(seed=[1000])

    `config` is a benchmark's name ("metaworld") with its options as keywords (``task="reach-v3"``,
    ``obs_type="state"``, which ``yardarm eval --env.type=metaworld --help`` lists), a benchmark's
    configuration, or the Hub id or path of an environment's folder.

    ``envs.only`` is the environment of a single task. Environments are built on first use, and `close` frees them. With
    `use_async_envs` each of several environments runs in its own process; a script then needs a ``__main__`` guard.
    """
    n_envs = fitted("n_envs", int, n_envs)
    fitted("use_async_envs", bool, use_async_envs)
    fitted("trust_remote_code", bool, trust_remote_code)
    if n_envs < 1:
        raise UsageError(f"n_envs must be at least 1, got {n_envs}")
    env = _configuration(config, options)
    if env.python:
        raise UsageError(
            f"make_env builds simulators in this interpreter, so python={env.python} does not apply; use `evaluate`"
        )
    try:
        env.check_requirements()
    except SetupError as missing:
        raise SetupError(
            f"{missing}; make_env builds simulators in this interpreter, so they must be installed here with pip"
        ) from missing
    tasks = select_tasks([env], trust_remote_code)
    try:
        from yardarm.envs.vector import vector_envs
    except ModuleNotFoundError as error:
        raise SetupError(f"make_env needs gymnasium; run: pip install 'gymnasium>=1.1,<2' ({error})") from error
    return vector_envs(tasks, n_envs, use_async_envs)


def _configuration(config: BenchmarkConfig | str, options: dict[str, Any]) -> BenchmarkConfig:
    if isinstance(config, BenchmarkConfig):
        if options:
            raise UsageError(
                f"{', '.join(options)}: options are for a benchmark's name; a configuration has its own: "
                f"{type(config).__name__}({next(iter(options))}=…)"
            )
        return config
    name = fitted("config", str, config)
    given = {**named_env(name), **options}
    kind = given.pop("type")
    (made,) = options_of(f"benchmark '{kind}'", given, BENCHMARKS.load(kind))
    return made
