"""The TLS context of all clients of a process."""

import ssl
from functools import cache

import httpx2


@cache
def tls() -> ssl.SSLContext:
    """Return the context that httpx2 makes by default, made once: reading the certificates takes 30 ms."""
    return httpx2.create_ssl_context()
