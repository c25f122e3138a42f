"""A gateway with an engine that says what A2A's compatibility kit expects for the prefixes of its message ids.

The plugin of the kit (tests/a2a_kit/) writes a message's id in front of its text, because engines see texts alone.
"""

from collections.abc import AsyncIterator
from typing import Any

from actors.engines.turn import Turn
from tests.gateways.parts import serve

SAID = {
    "tck-artifact-text": ["Generated text content"],
    "tck-stream-artifact-text": ["Streamed text content"],
    "tck-stream-artifact-chunked": ["chunk-1 ", "chunk-2"],
    "tck-stream-ordering-001": ["Ordered output"],
    "tck-stream-001": ["Stream hello from TCK"],
    "tck-stream-003": ["Stream task lifecycle"],
}
"""The kit's scenarios (its folder scenarios/) of which an agent that says texts is capable."""


class KitEngine:
    name = "a2a_kit"

    async def stream(self, turn: Turn) -> AsyncIterator[str]:
        if turn.message.startswith("tck-reject-task"):
            raise RuntimeError("the engine was told to reject the task")
        found = [pieces for prefix, pieces in SAID.items() if turn.message.startswith(prefix)]
        for piece in found[0] if found else ["Hello from TCK"]:
            yield piece


def kit_engine(*_: Any) -> KitEngine:
    return KitEngine()


if __name__ == "__main__":
    serve(engine=kit_engine)
