"""Signatures of deliveries, in two schemes over one secret (docs/contract.md, "Secrets and signatures").

- `X-Service-Signature: t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<body>`, keyed by the UTF-8 of the whole
  secret, `whsec_` included: the scheme of Stripe's libraries.
- `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64>`: HMAC-SHA256 over `<id>.<timestamp>.<body>`, keyed
  by the 32 bytes that the secret encodes (https://www.standardwebhooks.com).
"""

import base64
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from actors.errors import StateConflict
from actors.wire import iso

PREFIX = "whsec_"
KEY_BYTES = 32
OVERLAP_MS = 24 * 3600 * 1000
"""The time after a rotation in which deliveries are also signed with the previous secret."""

USER_AGENT = "Parley-Webhooks/1"

MAX_SECRETS = 8
"""The largest number of secrets that sign one endpoint's deliveries at a time."""


class Secret(NamedTuple):
    """A signing secret; `until` is the end of its use in ms since the epoch, None for the current one."""

    text: str
    until: int | None = None


def new_secret() -> str:
    """Make a secret: `whsec_` and the base64 of 32 random bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def rotated(held: Sequence[Secret], new: str, now: int) -> tuple[Secret, ...]:
    """Add a new secret as the first; the others are used for another 24 hours.

    Raises:
        StateConflict: there are MAX_SECRETS in use, each of which still has to sign.
    """
    ends = now + OVERLAP_MS
    before = [Secret(old.text, old.until or ends) for old in held if old.until is None or old.until > now]
    if len(before) >= MAX_SECRETS:
        raise StateConflict(
            f"All {MAX_SECRETS} secrets of the last 24 hours still sign; rotate later, or send"
            ' rotate_secret: "now", which drops the earlier ones at once.'
        )
    return (Secret(new), *before)


def seal_purpose(endpoint_id: str) -> str:
    """Return the sealer's purpose for an endpoint's secrets."""
    return f"endpoint {endpoint_id}"


def pack(held: Sequence[Secret]) -> bytes:
    """Encode secrets for sealing and storing."""
    return orjson.dumps([tuple(secret) for secret in held])


def unpack(packed: bytes) -> tuple[Secret, ...]:
    """Decode the result of `pack`."""
    return tuple(Secret(text, until) for text, until in orjson.loads(packed))


@dataclass(frozen=True, slots=True)
class Keys:
    """A secret's keys for both schemes, and the end of their use.

    Each is an HMAC with its key already set, to be copied, at half the cost of `hmac.digest`.
    """

    whole: hmac.HMAC = field(repr=False)
    decoded: hmac.HMAC = field(repr=False)
    until: int | None

    @classmethod
    def of(cls, secret: Secret) -> "Keys":
        """Derive the keys of a secret."""
        decoded = base64.b64decode(secret.text.removeprefix(PREFIX))
        return cls(hmac.new(secret.text.encode(), None, "sha256"), hmac.new(decoded, None, "sha256"), secret.until)


def body_of(event_id: str, event_type: str, created_at: int, data: str) -> bytes:
    """Write the body of an event's deliveries; `created_at` is in ms since the epoch, `data` is JSON."""
    return f'{{"id":"{event_id}","type":"{event_type}","created_at":"{iso(created_at)}","data":{data}}}'.encode()


class Signer:
    """Makes the headers of deliveries; `brand` is part of `X-<brand>-Signature`."""

    def __init__(self, brand: str) -> None:
        self._event = f"X-{brand}-Event"
        self._delivery = f"X-{brand}-Delivery"
        self._signature = f"X-{brand}-Signature"

    def headers(
        self, keys: Sequence[Keys], now: int, event_id: str, event_type: str, delivery_id: str, body: bytes
    ) -> dict[str, str]:
        """Make the headers of one attempt, signed at `now` (ms since the epoch) with every secret still in use."""
        timestamp = str(now // 1000)
        ours = b"%s.%s" % (timestamp.encode(), body)
        standard = b"%s.%s" % (event_id.encode(), ours)
        in_use = [key for key in keys if key.until is None or key.until > now]
        return {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            self._event: event_type,
            self._delivery: delivery_id,
            self._signature: f"t={timestamp}," + ",".join(f"v1={_digest(key.whole, ours).hex()}" for key in in_use),
            "webhook-id": event_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": " ".join(
                f"v1,{base64.b64encode(_digest(key.decoded, standard)).decode()}" for key in in_use
            ),
        }


def _digest(keyed: hmac.HMAC, text: bytes) -> bytes:
    mac = keyed.copy()
    mac.update(text)
    return mac.digest()
