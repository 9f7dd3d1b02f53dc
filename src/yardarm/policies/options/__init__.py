"""What a user can say of a training, as plain data: the optimiser, the schedule, the adapter. It needs no torch."""

from yardarm.policies.options.optimization import OptimizerOptions, SchedulerOptions
from yardarm.policies.options.peft import METHODS, Method, PeftOptions

__all__ = ["METHODS", "Method", "OptimizerOptions", "PeftOptions", "SchedulerOptions"]
