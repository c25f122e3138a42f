"""The gateway's URL as its client knows it."""

from ipaddress import ip_network

import pytest

from routes.http.base_url import base_url

PROXIES = (ip_network("10.0.0.0/8"),)
X_FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-host": "parley.example"}


@pytest.mark.parametrize(
    ("peer", "headers", "url"),
    [
        ("192.0.2.1", {}, "http://gateway:8000"),
        ("192.0.2.1", X_FORWARDED, "http://gateway:8000"),
        ("192.0.2.1", {"forwarded": "proto=https;host=evil.example"}, "http://gateway:8000"),
        ("10.0.0.1", {}, "http://gateway:8000"),
        ("10.0.0.1", X_FORWARDED, "https://parley.example"),
        ("10.0.0.1", {"x-forwarded-proto": "https"}, "https://gateway:8000"),
        ("10.0.0.1", {"x-forwarded-host": "client.example, parley.example"}, "http://parley.example"),
        (
            "10.0.0.1",
            {"forwarded": 'for=192.0.2.9;Proto=HTTPS;host="parley.example:444"'},
            "https://parley.example:444",
        ),
        ("10.0.0.1", {"forwarded": "host=evil.example, host=parley.example;proto=https"}, "https://parley.example"),
        ("10.0.0.1", {"x-forwarded-proto": "javascript"}, "http://gateway:8000"),
    ],
)
def test_only_a_trusted_proxy_tells_scheme_and_host(peer: str, headers: dict[str, str], url: str):
    assert base_url(peer, ({"host": "gateway:8000"} | headers).get, PROXIES) == url


def test_without_trusted_proxies_only_the_host_counts():
    assert base_url("127.0.0.1", ({"host": "[::1]:8000"} | X_FORWARDED).get, ()) == "http://[::1]:8000"
