"""The requests that the fast path takes, and their parsed form."""

import pytest

from routes.http.fastpath import plain_request

LINE = "POST /demo/v1/Svc/tps HTTP/1.1"
BODY = b'{"service": "AP_List"}'


def request(*fields: str, body: bytes = BODY, length: str | None = str(len(BODY))) -> bytes:
    lines = [LINE, "Host: gateway", *([] if length is None else [f"Content-Length: {length}"]), *fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def test_a_plain_request_is_taken_apart():
    taken = plain_request(request("AUTHORIZATION: Bearer  x", "X-Empty:", "Accept:*/* ", "Connection: Keep-Alive"))
    assert taken == (
        LINE,
        {
            "host": "gateway",
            "authorization": "Bearer  x",
            "x-empty": "",
            "accept": "*/*",
            "connection": "Keep-Alive",
        },
        BODY,
    )


@pytest.mark.parametrize("place", [1, 2])
def test_the_length_may_stand_anywhere_in_the_head(place: int):
    fields = ["Host: gateway", "Accept: */*"]
    fields.insert(place, f"content-length:{len(BODY)}")
    taken = plain_request("\r\n".join([LINE, *fields]).encode() + b"\r\n\r\n" + BODY)
    assert taken == (LINE, {"host": "gateway", "accept": "*/*"}, BODY)


def test_an_empty_body_is_a_body():
    taken = plain_request(request(body=b"", length="0"))
    assert taken is not None
    assert taken[2] == b""


def test_what_follows_the_head_is_the_body_whatever_it_holds():
    body = b"\r\n\r\nHost: other\r\n\r\n\xff\x00"
    taken = plain_request(request(body=body, length=str(len(body))))
    assert taken is not None
    assert taken[2] == body


LEFT = {
    "nothing": b"",
    "no end of the head": request(body=b"")[:-2],
    "a body not yet here": request(body=BODY[:-1]),
    "one more request behind it": request() + request(),
    "one more byte behind it": request() + b"\n",
    "no length": request(length=None, body=b""),
    "two lengths": request(f"Content-Length: {len(BODY)}"),
    "two equal lengths apart": request("Accept: */*", f"content-length: {len(BODY)}"),
    "a negative length": request(length="-22"),
    "a signed length": request(length="+22"),
    "a length with an underscore": request(length="2_2"),
    "a length in other digits": request(length="\u00b2\u00b2"),
    "a length of a thousand digits": request(length="0" * 998 + "22"),
    "chunks": request("Transfer-Encoding: chunked"),
    "chunks, hidden": request("Transfer-Encoding : chunked"),
    "an expectation": request("Expect: 100-continue"),
    "an upgrade": request("Upgrade: websocket"),
    "a connection to be closed": request("Connection: close"),
    "a connection with options": request("Connection: keep-alive, X-Hop"),
    "a folded header": request("X-Folded: a", " b"),
    "a header without a colon": request("X-Nothing"),
    "a header twice": request("X-Twice: 1", "x-twice: 2"),
    "a bare line feed": request("X-Line: a\nTransfer-Encoding: chunked"),
    "a bare carriage return": request("X-Line: a\rb"),
    "a NUL": request("X-Nul: \x00"),
    "a byte that is not ASCII": request("X-Name: J\xf6rg"),
    "a long head": request("X-Long: " + "a" * 8_192),
    "a Host that is no address in brackets": request().replace(b"gateway", b"[1]"),
    "no head": b"\r\n\r\n",
}


@pytest.mark.parametrize("data", LEFT.values(), ids=LEFT.keys())
def test_what_leaves_a_doubt_is_left_to_sanic(data: bytes):
    assert plain_request(data) is None
