"""Metrics of requests: counts and latency per service."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from persistence.histogram import Histogram


class RequestMetrics(Collector):
    """Counts requests and measures their latency per service.

    Plain lists become metric families at the scrape, at a tenth of the cost of a labelled child per request.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[str, int], int] = {}
        """The number of requests, by service and internal code."""
        self.latency: dict[str, Histogram] = {}
        """Their times, by service."""
        self.under_way = 0
        """The number of requests that have not been answered yet, streams included."""

    def observe(self, service: str, internal_code: int, seconds: float) -> None:
        """Count one request."""
        key = (service, internal_code)
        self.counts[key] = self.counts.get(key, 0) + 1
        latency = self.latency.get(service)
        if latency is None:
            latency = self.latency[service] = Histogram()
        latency.observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of a scrape."""
        requests = CounterMetricFamily(
            "parley_requests", "Requests by service and internal code", labels=["service", "internal_code"]
        )
        for (service, code), count in self.counts.items():
            requests.add_metric([service, str(code)], count)
        yield requests
        yield histogram_family(
            "parley_request_seconds",
            "Time from the request's arrival to its answer; to the head of a stream without end",
            (((service,), latency) for service, latency in self.latency.items()),
            labels=("service",),
        )
        yield GaugeMetricFamily(
            "parley_requests_under_way", "Requests not answered yet, streams included", value=self.under_way
        )


def histogram_family(
    name: str, described: str, histograms: Iterable[tuple[tuple[str, ...], Histogram]], labels: tuple[str, ...] = ()
) -> Metric:
    """Return histograms as a metric family, each with the values of its labels."""
    family = HistogramMetricFamily(name, described, labels=labels)
    for values, histogram in histograms:
        total = 0
        cumulative: list[tuple[str, float]] = []
        for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
            total += count
            cumulative.append(("+Inf" if bound == float("inf") else str(bound), total))
        family.add_metric(values, cumulative, histogram.total)
    return family
