"""The simulators of all worlds, each with the interface `yardarm.envs.Simulator`.

Their modules are imported only in workers, by the path in a task's `EnvSpec`.
"""
