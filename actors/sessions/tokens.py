"""Opaque credentials: `pls_...` session tokens, `plk_...` API keys, `plx_...` sandbox keys.

A token is its prefix, 32 random characters of base 62 and a checksum of six, so that scanners recognise one and a
typo is refused without a look-up. Only its SHA-256 is stored.
"""

import hashlib
import secrets
import string
import zlib

SESSION_TOKEN = "pls"
API_KEY = "plk"
SANDBOX_KEY = "plx"
UNCONFIRMED = "a-session-without-its-proof"
"""Stands for a session's token that a browser sent by itself, without the proof that a change needs beside it."""
KINDS = (SESSION_TOKEN, API_KEY, SANDBOX_KEY)

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM = 32  # characters: 190 bits
_CHECK = 6  # characters: a CRC-32 in base 62


def new_token(kind: str) -> str:
    """Make a token of one of `KINDS`."""
    body = f"{kind}_" + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return body + _checksum(body)


def token_kind(token: str) -> str | None:
    """Return a token's kind, or None if its prefix, length or checksum is wrong."""
    kind, separator, rest = token.partition("_")
    if kind not in KINDS or not separator or len(rest) != _RANDOM + _CHECK or not token.isascii():
        return None
    return kind if token[-_CHECK:] == _checksum(token[:-_CHECK]) else None


def token_hash(token: str) -> bytes:
    """Return the stored digest of a token: SHA-256, 32 bytes."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    text = ""
    for _ in range(_CHECK):
        number, digit = divmod(number, 62)
        text = _ALPHABET[digit] + text
    return text
