"""`parley_client.webhooks.verify` takes what the gateway signs, and nothing else."""

import base64
import hmac
import time
from typing import Any

import pytest

from actors.webhooks.signing import Keys, Secret, Signer, new_secret
from parley_client import BadSignature
from parley_client.webhooks import signed_anew, signed_at, verify

SECRET, OLD = new_secret(), new_secret()
BODY = b'{"type":"webhook.test","data":{}}'


def headers(*secrets: str, at: float | None = None, brand: str = "Service") -> dict[str, str]:
    keys = [Keys.of(Secret(secret)) for secret in secrets]
    now = int((at or time.time()) * 1000)
    return Signer(brand).headers(keys, now, "e-1", "webhook.test", "dlv_1", BODY)


def without(given: dict[str, str], beginning: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if not name.lower().startswith(beginning)}


def test_both_kinds_of_signature_are_verified() -> None:
    given = headers(SECRET)
    assert verify(BODY, without(given, "x-"), SECRET)["type"] == "webhook.test"
    assert verify(BODY, without(given, "webhook-"), SECRET)["type"] == "webhook.test"
    own = without(headers(SECRET, brand="Acme"), "webhook-")
    assert verify(BODY, own, SECRET, brand="Acme") == {"type": "webhook.test", "data": {}}


@pytest.mark.parametrize("brand", ["Service", "Acme"])
def test_a_delivery_is_signed_anew_as_the_gateway_signs(brand: str) -> None:
    old, now = headers(SECRET, at=1_700_000_000, brand=brand), 1_700_000_900.5
    assert signed_anew(BODY, old, SECRET, now) == headers(SECRET, at=now, brand=brand)
    assert signed_at(old) == 1_700_000_000


def test_after_a_rotation_either_secret_verifies() -> None:
    given = headers(SECRET, OLD)
    for beginning in ("x-", "webhook-"):
        assert verify(BODY, without(given, beginning), SECRET) == verify(BODY, without(given, beginning), OLD)


@pytest.mark.parametrize("left_out", ["x-", "webhook-"])
def test_another_body_secret_or_time_is_refused(left_out: str) -> None:
    given = without(headers(SECRET), left_out)
    with pytest.raises(BadSignature, match="not of this secret"):
        verify(BODY + b" ", given, SECRET)
    with pytest.raises(BadSignature, match="not of this secret"):
        verify(BODY, given, OLD)
    for seconds in (-400, 400):
        with pytest.raises(BadSignature, match="older or newer"):
            verify(BODY, without(headers(SECRET, at=time.time() + seconds), left_out), SECRET)


def test_headers_without_a_signature_or_a_time_are_refused() -> None:
    with pytest.raises(BadSignature, match="no signature"):
        verify(BODY, {}, SECRET)
    with pytest.raises(BadSignature, match="no time"):
        verify(BODY, {"X-Service-Signature": "v1=00"}, SECRET)
    with pytest.raises(BadSignature, match="no secret"):
        verify(BODY, headers(SECRET), "whsec_!")


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_header_that_is_no_text_is_a_bad_signature(name: str) -> None:
    with pytest.raises(BadSignature):
        verify(BODY, headers(SECRET) | {name: "v1,\udcff"}, SECRET)


@pytest.mark.parametrize("signature", ["t=1,v1=\udcff", "t=\udcff,v1=00"])
def test_a_header_of_parley_s_own_that_is_no_text_is_a_bad_signature(signature: str) -> None:
    with pytest.raises(BadSignature):
        verify(BODY, {"X-Service-Signature": signature}, SECRET)


def test_a_body_may_be_a_text() -> None:
    body = '{"type":"webhook.test","data":{"by":"Käthe"}}'
    given = Signer("Service").headers(
        [Keys.of(Secret(SECRET))], int(time.time() * 1000), "e-1", "webhook.test", "dlv_1", body.encode()
    )
    assert verify(body, given, SECRET)["data"] == {"by": "Käthe"}
    with pytest.raises(BadSignature):
        verify("\udcff", given, SECRET)


@pytest.mark.parametrize("time_sent", ["9" * 5_000, "9" * 400])
def test_a_time_with_thousands_of_digits_is_a_bad_signature(time_sent: str) -> None:
    given = headers(SECRET) | {"webhook-timestamp": time_sent}
    with pytest.raises(BadSignature):
        verify(BODY, given, SECRET)
    with pytest.raises(BadSignature):
        verify(BODY, {"X-Service-Signature": f"t={time_sent},v1=00"}, SECRET)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_é", "secret"])
def test_nothing_is_verified_with_a_secret_that_is_none(secret: str) -> None:
    sent_at = str(int(time.time()))
    standard = hmac.digest(b"", f"e-1.{sent_at}.".encode() + BODY, "sha256")
    own = hmac.digest(secret.encode(), f"{sent_at}.".encode() + BODY, "sha256")
    for forged in (
        {
            "webhook-id": "e-1",
            "webhook-timestamp": sent_at,
            "webhook-signature": f"v1,{base64.b64encode(standard).decode()}",
        },
        {"X-Service-Signature": f"t={sent_at},v1={own.hex()}"},
    ):
        with pytest.raises(BadSignature, match="the secret is no secret of an endpoint"):
            verify(BODY, forged, secret)
