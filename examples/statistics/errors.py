"""Errors are neither successes nor failures: the rate without them, and under both readings."""

from yardarm.results import Counts

counts = Counts(successes=43, episodes=47, errors=3)
readings = {
    "without the errors": counts,
    "had they failed": counts.errors_failed,
    "had they succeeded": counts.errors_succeeded,
}
for name, own in readings.items():
    print(
        f"- {name}: {own.successes}/{own.episodes} = {own.rate:.1%} ({own.interval.low:.1%} – {own.interval.high:.1%})"
    )
