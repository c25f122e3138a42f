"""Authentication of the internal routes by the operator's secret."""

import hmac
from collections.abc import Callable

from sanic.exceptions import NotFound

from actors.errors import InvalidCredential, NoCredential


class InternalAuth:
    """Checks X-Internal-Secret: 404 if no secret is set, 401 without the right one."""

    def __init__(self, secret: str | None) -> None:
        self._secret = None if secret is None else secret.encode()

    def holds(self, header: Callable[[str], str | None]) -> bool:
        """Return whether a request has the secret; False if none is set."""
        sent = header("x-internal-secret")
        if self._secret is None or not sent:
            return False
        return hmac.compare_digest(sent.encode("utf-8", "surrogateescape"), self._secret)

    def check(self, header: Callable[[str], str | None]) -> None:
        """Require the secret; `header` returns the value of a header.

        Raises:
            NotFound: no secret is set.
            NoCredential, InvalidCredential: none was sent, or a wrong one.
        """
        if self._secret is None:
            raise NotFound("")  # answered like any unknown path
        if not header("x-internal-secret"):
            raise NoCredential("This is an internal route: send X-Internal-Secret.")
        if not self.holds(header):
            raise InvalidCredential("X-Internal-Secret is wrong; send the INTERNAL_SECRET of this gateway.")
