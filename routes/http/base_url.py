"""The gateway's URL as a client knows it, for answers that name it."""

from collections.abc import Callable, Sequence

from routes.http.addresses import Network, is_trusted


def base_url(peer: str, header: Callable[[str], str | None], trusted: Sequence[Network]) -> str:
    """Return the scheme and authority under which a request reached the gateway, without a final slash.

    They are those of `Forwarded` (RFC 7239) or else `X-Forwarded-Proto` and `X-Forwarded-Host`, as the nearest proxy
    wrote them, if `peer` is a trusted proxy; else those of the request itself. `header` returns the lines of a header,
    joined by commas.
    """
    scheme, host = "http", header("host") or "localhost"
    if trusted and is_trusted(peer, trusted):
        told = _told(header)
        scheme, host = told.get("proto", scheme).lower(), told.get("host", host)
    return f"{scheme if scheme == 'https' else 'http'}://{host}"


def _told(header: Callable[[str], str | None]) -> dict[str, str]:
    """Return the members `proto` and `host` that the nearest proxy has told."""
    forwarded = header("forwarded")
    if forwarded:
        pairs = (pair.strip().partition("=") for pair in forwarded.rpartition(",")[2].split(";"))
        told = {name.lower(): value.strip('"') for name, _, value in pairs}
    else:
        names = {"proto": "x-forwarded-proto", "host": "x-forwarded-host"}
        told = {name: (header(sent) or "").rpartition(",")[2].strip() for name, sent in names.items()}
    return {name: value for name, value in told.items() if value}
