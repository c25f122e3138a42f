"""Verification of webhook deliveries (https://www.standardwebhooks.com, and Parley's own header).

>>> from parley_client.webhooks import verify
>>> verify(b"{}", {}, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
Traceback (most recent call last):
parley_client.errors.BadSignature: the delivery has no signature
"""

import base64
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, cast

from parley_client.errors import BadSignature

__all__ = ["TOLERANCE_S", "BadSignature", "signed_anew", "signed_at", "verify"]

TOLERANCE_S = 300.0
"""The greatest age of a signature in seconds."""

MAX_TIME_DIGITS = 20
"""More than any time has; `int` raises an error of its own for thousands."""


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance: float = TOLERANCE_S,
    brand: str = "Service",
) -> dict[str, Any]:
    """Return the event of a delivery, once its signature is verified.

    Args:
        body: the raw body, as it was received; a text where that was decoded from UTF-8 and nothing else.
        headers: the delivery's headers, in any case.
        secret: the endpoint's secret, `whsec_...`.
        tolerance: the greatest age of the signature in seconds; also how far it may be ahead.
        brand: the gateway's PARLEY_HEADER_BRAND, for deliveries without the headers of Standard Webhooks.

    Raises:
        BadSignature: this secret did not sign this body at that time, the signature is too old, or the secret is none.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        raw = body.encode() if isinstance(body, str) else body
        if "webhook-signature" in given:
            genuine, sent_at = _verified_standard(raw, given, secret)
        elif (ours := given.get(f"x-{brand.lower()}-signature")) is not None:
            genuine, sent_at = _verified_own(raw, ours, secret)
        else:
            raise BadSignature("the delivery has no signature")
    except UnicodeEncodeError:  # bytes that were no UTF-8, which some servers keep as lone surrogates
        raise BadSignature("the body or a header of the delivery has characters that no gateway sends") from None
    if not genuine:
        raise BadSignature("the signature is not of this secret and body")
    if abs(time.time() - sent_at) > tolerance:
        raise BadSignature(f"the signature is older or newer than {tolerance:g} s")
    return cast("dict[str, Any]", json.loads(raw))


def signed_anew(body: bytes, headers: Mapping[str, str], secret: str, now: float) -> dict[str, str]:
    """Return the headers of a delivery, with the signatures that it has made at `now` (seconds since the epoch).

    A gateway signs each attempt anew; this does the same for an event that has waited since it was sent.
    """
    sent_at = str(int(now))
    made = dict(headers)
    for name, value in headers.items():
        if name.lower() == "webhook-timestamp":
            made[name] = sent_at
        elif name.lower() == "webhook-signature":
            event_id = next((of for key, of in headers.items() if key.lower() == "webhook-id"), "")
            made[name] = _standard(body, event_id, sent_at, secret).decode()
        elif name.lower().startswith("x-") and value.startswith("t=") and name.lower().endswith("-signature"):
            made[name] = f"t={sent_at},v1={_own(body, sent_at, secret).decode()}"
    return made


def signed_at(headers: Mapping[str, str]) -> int:
    """Return when a delivery was signed, in seconds since the epoch; 0 where that is not said."""
    said = next((value for name, value in headers.items() if name.lower() == "webhook-timestamp"), "")
    return int(said) if said.isascii() and said.isdecimal() else 0


def _verified_standard(body: bytes, headers: Mapping[str, str], secret: str) -> tuple[bool, int]:
    sent_at = headers.get("webhook-timestamp", "")
    made = _standard(body, headers.get("webhook-id", ""), sent_at, secret)
    return _any(made, headers["webhook-signature"].split()), _seconds(sent_at)


def _standard(body: bytes, event_id: str, sent_at: str, secret: str) -> bytes:
    signed = hmac.digest(_key_of(secret), f"{event_id}.{sent_at}.".encode() + body, "sha256")
    return b"v1," + base64.b64encode(signed)


def _key_of(secret: str) -> bytes:
    """Return the key that a secret encodes.

    Raises:
        BadSignature: it is no secret, or an empty one, with which everybody can sign.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:  # also of a character beyond ASCII
        key = b""
    if not key:
        raise BadSignature("the secret is no secret of an endpoint: whsec_ and base64")
    return key


def _verified_own(body: bytes, header: str, secret: str) -> tuple[bool, int]:
    parts = [part.partition("=") for part in header.split(",")]
    sent_at = next((value for name, _, value in parts if name == "t"), "")
    _key_of(secret)
    made = _own(body, sent_at, secret)
    return _any(made, [value for name, _, value in parts if name == "v1"]), _seconds(sent_at)


def _own(body: bytes, sent_at: str, secret: str) -> bytes:
    return hmac.digest(secret.encode(), sent_at.encode() + b"." + body, "sha256").hex().encode()


def _any(made: bytes, signatures: list[str]) -> bool:
    return any(hmac.compare_digest(made, signature.encode()) for signature in signatures)


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_TIME_DIGITS):
        raise BadSignature("the signature has no time")
    return int(text)
