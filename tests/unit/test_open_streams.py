"""The streams of a session or API key, and their limit at a node (docs/cluster.md)."""

import pytest

from actors.errors import Overloaded, StateConflict
from actors.sessions.open_streams import MAX_STREAMS, OpenStreams


class Reading:
    """A stream of a user."""

    def __init__(self, credential_id: str) -> None:
        self.user_id, self.credential_id = "usr_1", credential_id
        self.reasons: list[str] = []

    def end(self, reason: str) -> None:
        self.reasons.append(reason)


def test_a_credential_opens_no_more_streams_than_the_limit_until_one_is_closed():
    streams, opened = OpenStreams(), [Reading("ses_1") for _ in range(MAX_STREAMS)]
    for stream in opened:
        streams.add(stream, limited=True)
    with pytest.raises(StateConflict):
        streams.add(Reading("ses_1"), limited=True)
    streams.add(Reading("ses_2"), limited=True)
    streams.discard(opened[0])
    streams.discard(opened[0])
    assert streams.of("ses_1") == MAX_STREAMS - 1
    streams.add(Reading("ses_1"), limited=True)
    with pytest.raises(StateConflict):
        streams.add(Reading("ses_1"), limited=True)


def test_a_connection_of_a_session_counts_but_is_not_refused():
    streams = OpenStreams()
    for _ in range(MAX_STREAMS + 1):
        streams.add(Reading("ses_1"))
    assert (streams.of("ses_1"), len(streams)) == (MAX_STREAMS + 1, MAX_STREAMS + 1)
    with pytest.raises(StateConflict):
        streams.add(Reading("ses_1"), limited=True)


def test_streams_of_a_gateway_that_stops_end_and_no_new_one_begins():
    streams, stream = OpenStreams(), Reading("ses_1")
    streams.add(stream)
    streams.close("gateway stops")
    assert stream.reasons == ["gateway stops"]
    with pytest.raises(Overloaded):
        streams.add(Reading("ses_1"))
