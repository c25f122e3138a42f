"""The figures of GET /debug/stream: the difference of two samples, each of which is plain JSON and may cross nodes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from actors.core import Core
from actors.runtime.directory import ActorStatus
from persistence.histogram import TIMES_S
from routes.http.metrics import RequestMetrics

FULLEST = 10
"""Number of mailboxes shown."""

Sample = Mapping[str, Any]
"""Counts since the start of a node, and its present state, with the time in seconds of its own clock (`now`)."""


def sample(
    core: Core, requests: RequestMetrics, lag_s: float, memory: int, now: float, fullest: Iterable[ActorStatus]
) -> Sample:
    """Return the sample of this node."""
    stats, deliveries = core.store.stats(), core.deliveries
    return {
        "now": now,
        "requests": [[service, code, count] for (service, code), count in requests.counts.items()],
        "latency": {service: list(latency.counts) for service, latency in requests.latency.items()},
        "loop_lag_ms": round(lag_s * 1000, 3),
        "units_waiting": stats.waiting,
        "commits": stats.batches,
        "actors": core.directory.count_by_kind(),
        "mailboxes": [
            {"kind": actor.kind, "key": actor.key, "name": actor.name, "mailbox": actor.mailbox} for actor in fullest
        ],
        "memory_bytes": memory,
        "readers": len(core.streams) + len(core.open_streams),
        "in_flight": deliveries.in_flight,
        "attempts": sum(deliveries.attempts.values()),
        "failed": sum(count for outcome, count in deliveries.attempts.items() if outcome != "succeeded"),
    }


def figures(at: str, between: Sequence[tuple[Sample, Sample]]) -> dict[str, Any]:
    """Return the figures of one node or several, each given by two samples; rates are per second."""

    def per_second(member: str) -> float:
        return round(sum((now[member] - was[member]) / _seconds(was, now) for was, now in between), 2)

    def total(member: str) -> int:
        return sum(now[member] for _, now in between)

    services = _services(between)
    actors = Counter[str]()
    for _, now in between:
        actors.update(now["actors"])
    mailboxes = [mailbox for _, now in between for mailbox in now["mailboxes"]]
    return {
        "at": at,
        "requests_s": round(sum(service["rate"] for service in services.values()), 2),
        "services": services,
        "loop_lag_ms": max((now["loop_lag_ms"] for _, now in between), default=0),
        "units_waiting": total("units_waiting"),
        "commits_s": per_second("commits"),
        "actors": dict(actors),
        "mailboxes": sorted(mailboxes, key=lambda mailbox: -mailbox["mailbox"])[:FULLEST],
        "memory_bytes": total("memory_bytes"),
        "readers": total("readers"),
        "deliveries": {
            "in_flight": total("in_flight"),
            "attempts_s": per_second("attempts"),
            "failed_s": per_second("failed"),
        },
    }


def _seconds(was: Sample, now: Sample) -> float:
    return max(now["now"] - was["now"], 0.001)


def _services(between: Sequence[tuple[Sample, Sample]]) -> dict[str, Any]:
    """Return rate, percentiles and codes of each service that had requests."""
    rates, codes = dict[str, float](), dict[str, Counter[str]]()
    latency: dict[str, list[int]] = {}
    for was, now in between:
        before = {(service, code): count for service, code, count in was["requests"]}
        for service, code, count in now["requests"]:
            grown = count - before.get((service, code), 0)
            if grown:
                rates[service] = rates.get(service, 0.0) + grown / _seconds(was, now)
                codes.setdefault(service, Counter())[str(code)] += grown
        for service, counts in now["latency"].items():
            if service in rates:
                old = was["latency"].get(service) or [0] * len(counts)
                whole = latency.setdefault(service, [0] * len(counts))
                latency[service] = [sum_ + new - past for sum_, new, past in zip(whole, counts, old, strict=True)]
    return {
        service: {
            "rate": round(rate, 2),
            "p50": percentile(latency[service], 0.50),
            "p99": percentile(latency[service], 0.99),
            "codes": dict(codes[service]),
        }
        for service, rate in sorted(rates.items())
    }


def percentile(counts: Sequence[int], share: float) -> float:
    """Return a percentile in milliseconds from the buckets of a histogram of times, interpolated within its bucket."""
    wanted = share * sum(counts)
    below = 0
    for index, upto in enumerate(accumulate(counts)):
        if upto >= wanted and upto > below:
            low = TIMES_S[index - 1] if index else 0.0
            high = TIMES_S[index] if index < len(TIMES_S) else low
            return round(1000 * (low + (high - low) * (wanted - below) / (upto - below)), 3)
        below = upto
    return 0.0
