"""Watches the caller's session or API key while it hears what a command or a run does."""

from collections.abc import Generator
from contextlib import contextmanager

from actors.calls.call import Call
from actors.sessions.credential_watch import CredentialWatch
from actors.sessions.open_streams import use_every_s


@contextmanager
def watching_credential(call: Call, *, hears: bool = True) -> Generator[CredentialWatch]:
    """Keep a watch over the caller's credential among the open streams; `hears` as `CredentialWatch` takes it."""
    core = call.core
    watch = CredentialWatch(call.user, core.directory, use_every_s(core.session_ttl_ms), hears=hears)
    core.credential_watches.add(watch)
    try:
        watch.use()  # the credential may have ended since the request was admitted
        yield watch
    finally:
        core.credential_watches.discard(watch)
