"""Repeats of the official client: it sends a request again after a lost answer, with the number of the try."""

import hashlib
from contextlib import suppress

from actors.calls.call import Call
from actors.commands.talk import key_digest
from actors.conversations.place import RunKey
from actors.errors import ServiceError
from persistence import run_keys
from persistence.store import StoreUnavailable, Unit
from routes.http.exchange import Received

REPEAT_MS = 600_000
"""How long a repeat leads to the run of its first try."""

RETRY_COUNT = "x-stainless-retry-count"
CONVERSATION_ID = "x-conversation-id"

_REFUSED = (409, 429, 503)
"""Statuses of refusals after which the client may send a request again."""


def run_key(call: Call, received: Received) -> RunKey | None:
    """Return the key by which the official client finds the run of its first try; None for other clients.

    A repeat has the same path, body and credential as its first try.
    """
    count = received.header(RETRY_COUNT)
    if count is None or not count.isascii() or not count.isdecimal():
        return None
    named, body = received.header(CONVERSATION_ID) or "", hashlib.sha256(received.body).hexdigest()
    digest = key_digest("openai", call.service, call.user.credential_id, named, body)
    return RunKey(digest, "", latest=int(count[:9]) == 0)


async def forget_earlier(call: Call, received: Received, error: ServiceError, since: int) -> None:
    """Let a repeat of a refused first try run, and not find an earlier run of the same request.

    `since` is the time at which the request arrived, in ms since the epoch.
    """
    key = run_key(call, received) if error.http_code in _REFUSED else None
    if key is None or not key.latest:
        return
    store = call.core.store
    with suppress(StoreUnavailable):
        if await store.fetch(run_keys.of_key(key.digest, since - REPEAT_MS)):
            await store.commit(Unit((run_keys.forget(key.digest, since),)))
