"""The console's cookie: a session's token that browsers send by themselves (docs/contract.md, "The console's cookie").

Because they send it whoever asks them to, a change needs a second proof beside it, which only the console's page knows.
"""

import hmac
from collections.abc import Callable, Iterable
from typing import Any

from sanic import Request

from actors.sessions.tokens import SESSION_TOKEN, UNCONFIRMED, token_kind

COOKIE = "parley_console"
CSRF_HEADER = "x-csrf-token"
SAFE_METHODS = ("GET", "HEAD")
"""The methods that change nothing and so need no proof (RFC 9110, 9.2.1)."""

Header = Callable[[str], str | None]


def csrf_of(token: str) -> str:
    """Return the proof that goes beside a token in the cookie: its HMAC, which every node can make."""
    return hmac.digest(token.encode(), b"parley console", "sha256").hex()


def with_cookie(request: Request, header: Header) -> Header:
    """Return a function like `header`, in which the cookie stands for a credential where the request has no other.

    A cookie without the proof that its request needs becomes `UNCONFIRMED`, which is refused where the credential is
    looked at.
    """
    headers: Any = request.headers
    if "authorization" in headers or "x-api-key" in headers:
        return header
    token = session_token(headers.getall("cookie", ()))
    if token is None:
        return header
    if request.method not in SAFE_METHODS and not _is_proof(headers.get(CSRF_HEADER), token):
        token = UNCONFIRMED
    credential = f"Bearer {token}"
    return lambda name: credential if name == "authorization" else header(name)


def session_token(lines: Iterable[str]) -> str | None:
    """Return the session token in the lines of a Cookie header (RFC 6265, 5.4).

    Returns None if there is none, or several: a page of a neighbouring host may have planted one of them.
    """
    pairs = (pair.strip(" \t").partition("=") for line in lines for pair in line.split(";"))
    values = {value for name, _, value in pairs if name == COOKIE}
    token = values.pop() if len(values) == 1 else ""
    return token if token_kind(token) == SESSION_TOKEN else None


def set_cookie(token: str, *, secure: bool) -> str:
    """Return the value of a Set-Cookie header that gives the browser a token, until it is closed."""
    return f"{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/" + ("; Secure" if secure else "")


def clear_cookie(*, secure: bool) -> str:
    """Return the value of a Set-Cookie header that takes the cookie away."""
    return set_cookie("", secure=secure) + "; Max-Age=0"


def _is_proof(sent: str | None, token: str) -> bool:
    return hmac.compare_digest((sent or "").encode("utf-8", "surrogateescape"), csrf_of(token).encode())
