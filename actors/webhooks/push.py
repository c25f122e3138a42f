"""Push notifications of A2A: where they go, and what they tell, which is ids and states and never a text."""

from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from actors.wire import iso

MAX_CONFIGS = 10
"""The largest number of configs of one task."""

CONTENT_TYPE = "application/a2a+json"
USER_AGENT = "Parley-A2A/1"

STATE_NAMES: dict[str, str] = {
    "working": "TASK_STATE_WORKING",
    "completed": "TASK_STATE_COMPLETED",
    "failed": "TASK_STATE_FAILED",
    "cancelled": "TASK_STATE_CANCELED",
}
"""The states of runs as A2A names them."""


@dataclass(frozen=True, slots=True)
class PushTarget:
    """The receiver of a task's notifications, and what proves to it where they come from."""

    url: str = field(repr=False)
    token: str | None = field(repr=False)
    scheme: str | None
    credentials: str | None = field(repr=False)

    def packed(self) -> bytes:
        """Encode it for sealing and storing."""
        return orjson.dumps([self.url, self.token, self.scheme, self.credentials])

    @classmethod
    def unpacked(cls, packed: bytes) -> "PushTarget":
        """Decode the result of `packed`."""
        return cls(*orjson.loads(packed))

    def headers(self) -> dict[str, str]:
        """Return the headers of a notification (A2A 1.0, section 4.3.3, and the official SDK's token)."""
        headers = {"Content-Type": CONTENT_TYPE, "User-Agent": USER_AGENT, "A2A-Version": "1.0"}
        if self.token:
            headers["X-A2A-Notification-Token"] = self.token
        if self.scheme and self.credentials:
            headers["Authorization"] = f"{self.scheme} {self.credentials}"
        return headers


class TaskEnd(NamedTuple):
    """The end of a task, at a time in ms since the epoch."""

    task_id: str
    context_id: str
    state: str
    at: int

    def body(self) -> bytes:
        """Return the body of a notification, a StreamResponse with a TaskStatusUpdateEvent."""
        status = {"state": STATE_NAMES[self.state], "timestamp": iso(self.at)}
        return orjson.dumps({"statusUpdate": {"taskId": self.task_id, "contextId": self.context_id, "status": status}})


def seal_purpose(message_id: str, id: str) -> str:
    """Return the sealer's purpose for a config's target."""
    return f"push config {message_id} {id}"
