"""Who hears what a command or a run does, for as long as the caller's session or API key lives."""

from collections.abc import Generator
from contextlib import contextmanager

from actors.calls.call import Call
from actors.sessions.hearer import Hearer
from actors.sessions.open_streams import use_every_s


@contextmanager
def hearing(call: Call, *, hears: bool = True) -> Generator[Hearer]:
    """Keep a hearer of the caller's among the open streams; `hears` as `Hearer` takes it."""
    core = call.core
    hearer = Hearer(call.user, core.directory, use_every_s(core.session_ttl_ms), hears=hears)
    core.hearers.add(hearer)
    try:
        hearer.use()  # the credential may have ended since the request was admitted
        yield hearer
    finally:
        core.hearers.discard(hearer)
