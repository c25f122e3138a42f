"""GET /metrics: the gateway's metrics as Prometheus text."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sanic import Blueprint, HTTPResponse, Request

from actors.core import Core
from actors.engines.times import times_of
from routes.gateway.live import Live
from routes.http.connections import Connections
from routes.http.loop_lag import LoopLag
from routes.http.metrics import RequestMetrics, histogram_family
from routes.pages.cluster_metrics import ClusterMetrics


class CoreMetrics(Collector):
    """Collects metrics of actors, credentials, the store, streams and connections at the time of the scrape."""

    def __init__(self, core: Core, connections: Connections, lag: LoopLag, live: Live) -> None:
        self._core = core
        self._connections = connections
        self._lag = lag
        self._live = live
        self.fullest = 0
        """The number of messages in the fullest mailbox, read before the scrape."""

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of a scrape."""
        core = self._core
        actors = GaugeMetricFamily("parley_actors", "Live actors", labels=["kind"])
        for kind, count in core.directory.count_by_kind().items():
            actors.add_metric([kind], count)
        yield actors
        yield GaugeMetricFamily("parley_mailbox_fullest", "Messages in the fullest mailbox", value=self.fullest)
        yield CounterMetricFamily("parley_actor_activations", "Actors started", value=core.directory.activations)
        yield CounterMetricFamily(
            "parley_credential_lookups",
            "Tokens that had to be looked up in the store",
            value=core.credentials.lookups,
        )
        yield from self._of_deliveries()
        yield from self._of_store()
        times = times_of(core.engine)
        yield histogram_family("parley_engine_seconds", "Times of the chat engine's turns", [((), times)])
        yield GaugeMetricFamily(
            "parley_loop_lag_seconds",
            "Largest delay of the event loop's timers in the last second",
            value=self._lag.look(),
        )
        readers = GaugeMetricFamily("parley_stream_readers", "Readers of streams without end", labels=["stream"])
        readers.add_metric(["zone"], len(core.streams))
        readers.add_metric(["debug"], len(self._live))
        readers.add_metric(["other"], len(core.open_streams) - len(self._live))
        yield readers
        yield CounterMetricFamily(
            "parley_connections_refused",
            "Connections refused because their address had too many",
            value=self._connections.refused,
        )

    def _of_deliveries(self) -> Iterator[Metric]:
        counts = self._core.deliveries
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

    def _of_store(self) -> Iterator[Metric]:
        stats = self._core.store.stats()
        yield GaugeMetricFamily("parley_store_waiting_units", "Units that wait for a commit", value=stats.waiting)
        yield GaugeMetricFamily(
            "parley_store_oldest_unit_seconds", "Age of the oldest of them; 0 if none waits", value=stats.oldest_s
        )
        yield CounterMetricFamily("parley_store_units", "Units that were tried", value=stats.units)
        yield CounterMetricFamily("parley_store_commits", "Transactions that held them", value=stats.batches)
        yield histogram_family(
            "parley_store_commit_seconds", "Times from a transaction's start to its outcome", [((), stats.commit_s)]
        )
        yield histogram_family("parley_store_batch_units", "Units of a transaction", [((), stats.batch_units)])
        if stats.exclusive is not None:
            yield CounterMetricFamily(
                "parley_store_exclusive_commits",
                "Stored transactions that kept every other writer of the database waiting",
                value=stats.exclusive,
            )
        if stats.in_doubt is not None:
            yield CounterMetricFamily(
                "parley_commits_in_doubt", "Commits whose answer was lost with the connection", value=stats.in_doubt
            )


def metrics_blueprint(
    core: Core, requests: RequestMetrics, connections: Connections, lag: LoopLag, live: Live
) -> Blueprint:
    """Return the route, over a registry of the gateway's own with the process's memory and CPU."""
    registry = CollectorRegistry()
    registry.register(requests)
    of_core = CoreMetrics(core, connections, lag, live)
    registry.register(of_core)
    if core.cluster is not None:
        registry.register(ClusterMetrics(core.cluster))
    ProcessCollector(registry=registry)
    blueprint = Blueprint("metrics")

    @blueprint.get("/metrics")
    async def metrics(_: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        of_core.fullest = max((actor.mailbox for actor in await core.directory.fullest(1)), default=0)
        return HTTPResponse(generate_latest(registry), content_type="text/plain; version=0.0.4; charset=utf-8")

    return blueprint
