"""The media type and headers of answers as server-sent events."""

EVENT_STREAM = "text/event-stream"
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers of event streams: no cache stores them, and nginx passes each event on at once."""

STILL_HERE = b": still here\n\n"
"""The comment that is sent on a silent stream, so that neither end takes the connection for dead."""
