"""What a session on a bus comes to: how much, how fast, what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from yardarm.robots.bus_log.exchanges import Exchange, exchanges, no_answer
from yardarm.robots.bus_log.reading import LogSession

__all__ = ["summary"]

PERCENTILES = (50, 95, 99, 100)


def summary(session: LogSession) -> str:
    """A few lines about a session."""
    bus = session.bus(str(session.header["port"]))
    names = {motor.id: name for name, motor in bus.motors.items()}
    found = [own for call in session.calls for own in exchanges(call.bytes, bus)]
    asked = [own for own in found if own.request is not None]
    answered = [own for own in asked if own.expected and not own.missing]
    missing = Counter(names.get(id, f"id {id}") for own in found for id in own.missing)
    complaints = Counter(
        f"{names.get(answer.id, f'id {answer.id}')} {alert}"
        for own in found
        for answer in own.answers
        for alert in bus.protocol.alerts(answer.error)
    )
    faults = [call for call in session.calls if call.fault]
    ends = max((call.ended or call.t for call in session.calls), default=0.0)
    lines = [f"{len(asked)} requests in {ends:.1f} s, {len(answered)} answered by all{_latencies(answered)}"]
    if missing:
        lines.append(f"missing answers: {_listed(missing)}")
    if dropped := sum(len(own.dropped) for own in found):
        lines.append(no_answer(dropped))
    if late := sum(len(own.late) for own in found):
        lines.append(f"{late} answers came late")
    if complaints:
        lines.append(f"reported: {_listed(complaints)}")
    if faults:
        lines.append(f"calls that failed: {len(faults)}; the first at {faults[0].t:.3f} s: {faults[0].text}")
    return "\n".join(lines)


def _latencies(answered: Sequence[Exchange]) -> str:
    took = sorted(1000 * own.took_s for own in answered)
    if not took:
        return ""
    at = {share: took[min(len(took) - 1, len(took) * share // 100)] for share in PERCENTILES}
    return f": median {at[50]:.1f} ms, 95% {at[95]:.1f}, 99% {at[99]:.1f}, slowest {at[100]:.1f}"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}×" for name, number in counts.most_common())
