"""Repeats: by Idempotency-Key, or of the official client, which numbers the tries that it makes after a lost answer."""

import hashlib
from contextlib import suppress
from typing import NamedTuple

import orjson

from actors.calls.call import Call
from actors.commands.runs import forget_key
from actors.commands.talk import KEY_MS, key_digest
from actors.conversations.place import RunKey
from actors.errors import ServiceError
from actors.idempotency.once import fingerprint_of, require_key
from persistence.store import StoreUnavailable
from routes.http.exchange import Received

REPEAT_MS = 600_000
"""How long a repeat of the official client leads to the run of its first try."""

IDEMPOTENCY_KEY = "idempotency-key"
RETRY_COUNT = "x-stainless-retry-count"
CONVERSATION_ID = "x-conversation-id"

_REFUSED = (409, 429, 503)
"""Statuses of refusals after which the client may send a request again."""


class Repeatable(NamedTuple):
    """The key by which a client may send a request again, and for how long, in ms."""

    key: RunKey
    for_ms: int


def repeatable(call: Call, received: Received) -> Repeatable | None:
    """Return how a repeat of a request finds the run of its first try; None if it can't.

    A repeat has the same credential as its first try, and either its Idempotency-Key or, from the official client,
    the same path and body.

    Raises:
        InvalidField: the Idempotency-Key is none.
    """
    key, count = received.header(IDEMPOTENCY_KEY), received.header(RETRY_COUNT)
    credential, named = call.user.credential_id, received.header(CONVERSATION_ID) or ""
    if key:
        digest = key_digest("openai key", credential, require_key(key))
        request = fingerprint_of(f"{call.service} {named}", orjson.loads(received.body))
        return Repeatable(RunKey(digest, request.hex()), KEY_MS)
    if count is None or not count.isascii() or not count.isdecimal():
        return None
    digest = key_digest("openai", call.service, credential, named, hashlib.sha256(received.body).hexdigest())
    return Repeatable(RunKey(digest, "", latest=int(count[:9]) == 0), REPEAT_MS)


async def forget_earlier(call: Call, received: Received, error: ServiceError, since: int) -> None:
    """Let a repeat of a refused first try run, and not find an earlier run of the same request.

    `since` is the time at which the request arrived, in ms since the epoch.
    """
    if error.http_code not in _REFUSED or received.header(IDEMPOTENCY_KEY):
        return
    known = repeatable(call, received)
    if known is None or not known.key.latest:
        return
    with suppress(StoreUnavailable):
        await forget_key(call, known.key, since, known.for_ms)
