"""Statistics; needs only numpy and scipy."""

from yardarm.stats.betting import confidence_sequence, difference_sequence
from yardarm.stats.bootstrap import bootstrap_mean
from yardarm.stats.intervals import CONFIDENCE, Interval, clopper_pearson, level, wilson
from yardarm.stats.over_tasks import TaskCounts, clustered, pooled, stratified
from yardarm.stats.paired import PairedCounts, bonett_price, mcnemar
from yardarm.stats.power import Design, largest_correlation
from yardarm.stats.sequential import SequentialMcNemar
from yardarm.stats.several import holm, letters
from yardarm.stats.training_seeds import MethodDifference, SeedSpread, method_difference, seed_spread
from yardarm.stats.unpaired import boschloo, newcombe

__all__ = [
    "CONFIDENCE",
    "Design",
    "Interval",
    "MethodDifference",
    "PairedCounts",
    "SeedSpread",
    "SequentialMcNemar",
    "TaskCounts",
    "bonett_price",
    "bootstrap_mean",
    "boschloo",
    "clopper_pearson",
    "clustered",
    "confidence_sequence",
    "difference_sequence",
    "holm",
    "largest_correlation",
    "letters",
    "level",
    "mcnemar",
    "method_difference",
    "newcombe",
    "pooled",
    "seed_spread",
    "stratified",
    "wilson",
]
