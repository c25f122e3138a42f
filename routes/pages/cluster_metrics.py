"""Metrics of a node among several: its lease, its shards, and what it sends to others."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from actors.runtime.cluster.places import Clustered
from routes.gateway.debug_cluster import by_name


class ClusterMetrics(Collector):
    """Collects them at the time of the scrape; a gateway alone has none of them."""

    def __init__(self, cluster: Clustered) -> None:
        self._cluster = cluster

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of a scrape."""
        ownership, traffic = self._cluster.ownership, self._cluster.traffic
        forwarded = CounterMetricFamily("parley_forwarded", "Requests sent to another node, by its name", labels=["to"])
        for name, count in ({} if traffic is None else by_name(traffic.forwarded)).items():
            forwarded.add_metric([name], count)
        yield forwarded
        moved = 0 if traffic is None else traffic.moved
        yield CounterMetricFamily("parley_moved", "Requests that went on from the home of their user", value=moved)
        lease_s = max(0.0, ownership.lease_s)
        yield GaugeMetricFamily("parley_lease_seconds", "Rest of its lease; 0: it serves nothing", value=lease_s)
        owned = ownership.map.owners.count(ownership.node)
        yield GaugeMetricFamily("parley_shards", "Shards that this node owns", value=owned)
        yield GaugeMetricFamily("parley_nodes", "Live nodes that this one knows of", value=len(ownership.nodes))
        fenced = ownership.over is not None
        yield CounterMetricFamily("parley_fenced", "1 once this node may serve and store nothing more", value=fenced)
        connected = self._cluster.post.connected
        yield GaugeMetricFamily("parley_nats_connected", "Whether other nodes can be reached", value=connected)
