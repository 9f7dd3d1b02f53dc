"""Fits the number of workers to what a run costs: what is measured, a model of it, and the choice."""

from yardarm.engine.tuning.tuner import Tuner, TuningChoice, tuner_for

__all__ = ["Tuner", "TuningChoice", "tuner_for"]
