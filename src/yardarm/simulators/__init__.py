"""The worlds, each behind the small protocol of `yardarm.envs.Simulator`.

Their modules are imported in workers only, by the path that a task's `EnvSpec` names.
"""
