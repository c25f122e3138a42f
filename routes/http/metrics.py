"""GET /metrics: what the gateway counts, as Prometheus text."""

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from sanic import Blueprint, HTTPResponse, Request

from actors.core import Core
from routes.http.connections import Connections

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RequestMetrics(Collector):
    """Counts requests and their latency per service.

    Kept in plain lists and turned into families at the scrape: a tenth of what a labelled child costs per request.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, service: str, internal_code: int, seconds: float) -> None:
        """Count one request."""
        key = (service, internal_code)
        self._counts[key] = self._counts.get(key, 0) + 1
        buckets = self._buckets.get(service)
        if buckets is None:
            buckets = self._buckets[service] = [0] * (len(BUCKETS_S) + 1)
            self._sums[service] = 0.0
        buckets[bisect_left(BUCKETS_S, seconds)] += 1
        self._sums[service] += seconds

    def collect(self) -> Iterator[Metric]:
        """Make the metric families of a scrape."""
        requests = CounterMetricFamily(
            "parley_requests", "Requests by service and internal code", labels=["service", "internal_code"]
        )
        for (service, code), count in self._counts.items():
            requests.add_metric([service, str(code)], count)
        yield requests
        latency = HistogramMetricFamily(
            "parley_request_seconds", "Time from the request's arrival to its answer", labels=["service"]
        )
        for service, buckets in self._buckets.items():
            total = 0
            cumulative: list[tuple[str, float]] = []
            for bound, count in zip((*BUCKETS_S, float("inf")), buckets, strict=True):
                total += count
                cumulative.append(("+Inf" if bound == float("inf") else str(bound), total))
            latency.add_metric([service], cumulative, self._sums[service])
        yield latency


class CoreMetrics(Collector):
    """Shows the actors, the credentials, the store and refused connections at the moment of the scrape."""

    def __init__(self, core: Core, connections: Connections) -> None:
        self._core = core
        self._connections = connections

    def collect(self) -> Iterator[Metric]:
        """Make the metric families of a scrape."""
        core = self._core
        actors = GaugeMetricFamily("parley_actors", "Live actors", labels=["kind"])
        for kind, count in core.directory.count_by_kind().items():
            actors.add_metric([kind], count)
        yield actors
        yield CounterMetricFamily("parley_actor_activations", "Actors started", value=core.directory.activations)
        yield CounterMetricFamily(
            "parley_credential_lookups",
            "Tokens that had to be looked up in the store",
            value=core.credentials.lookups,
        )
        counts = core.deliveries
        attempts = CounterMetricFamily(
            "parley_webhook_attempts", "Webhook attempts by success or error", labels=["outcome"]
        )
        for outcome, count in counts.attempts.items():
            attempts.add_metric([outcome], count)
        yield attempts
        ended = CounterMetricFamily("parley_webhook_deliveries", "Webhook deliveries that ended", labels=["state"])
        for state, count in counts.states.items():
            ended.add_metric([state], count)
        yield ended
        yield GaugeMetricFamily(
            "parley_webhook_attempts_in_flight", "Webhook attempts under way", value=counts.in_flight
        )
        stats = core.store.stats()
        yield GaugeMetricFamily("parley_store_waiting_units", "Units that wait for a commit", value=stats.waiting)
        yield CounterMetricFamily("parley_store_units", "Units that were tried", value=stats.units)
        yield CounterMetricFamily("parley_store_commits", "Transactions that held them", value=stats.batches)
        yield CounterMetricFamily(
            "parley_connections_refused",
            "Connections refused because their address had too many",
            value=self._connections.refused,
        )


def metrics_blueprint(core: Core, requests: RequestMetrics, connections: Connections) -> Blueprint:
    """Make the route; the registry is the gateway's own, with the process's memory and CPU."""
    registry = CollectorRegistry()
    registry.register(requests)
    registry.register(CoreMetrics(core, connections))
    ProcessCollector(registry=registry)
    blueprint = Blueprint("metrics")

    @blueprint.get("/metrics")
    async def metrics(_: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        return HTTPResponse(generate_latest(registry), content_type="text/plain; version=0.0.4; charset=utf-8")

    return blueprint
