"""Errors are neither successes nor failures: the rate without them, and if they had failed or succeeded."""

from yardarm.results import Counts

counts = Counts(successes=43, episodes=47, errors=3)
rates = {
    "without the errors": counts,
    "if they had failed": counts.errors_failed,
    "if they had succeeded": counts.errors_succeeded,
}
for name, own in rates.items():
    print(
        f"- {name}: {own.successes}/{own.episodes} = {own.rate:.1%} ({own.interval.low:.1%} – {own.interval.high:.1%})"
    )
