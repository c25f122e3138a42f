"""Counts of deliveries and attempts for the metrics."""

from dataclasses import dataclass, field

from actors.webhooks.messages import Outcome


@dataclass(slots=True)
class DeliveryCounts:
    """Counts of attempts and deliveries since the start of the gateway; they outlive the dispatcher's actor."""

    attempts: dict[str, int] = field(default_factory=dict[str, int])
    """The number of attempts, by `succeeded` or the error's code."""
    states: dict[str, int] = field(default_factory=dict[str, int])
    """The number of ended deliveries, by state."""
    in_flight: int = 0

    def attempt(self, outcome: Outcome) -> None:
        """Count an attempt."""
        key = outcome.error or "succeeded"
        self.attempts[key] = self.attempts.get(key, 0) + 1

    def ended(self, state: str) -> None:
        """Count the end of a delivery."""
        self.states[state] = self.states.get(state, 0) + 1
