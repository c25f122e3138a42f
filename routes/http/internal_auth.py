"""Access to the internal routes, with the operator's secret."""

import hmac
from collections.abc import Callable

from sanic.exceptions import NotFound

from actors.errors import InvalidCredential, NoCredential


class InternalAuth:
    """Guards the internal routes with X-Internal-Secret: 404 while there is none, 401 without the right one."""

    def __init__(self, secret: str | None) -> None:
        self._secret = None if secret is None else secret.encode()

    def check(self, header: Callable[[str], str | None]) -> None:
        """Require the secret; `header` returns a header's value.

        Raises:
            NotFound: there is no secret.
            NoCredential, InvalidCredential: none was sent, or a wrong one.
        """
        if self._secret is None:
            raise NotFound("")  # answered as any other path that is not there
        sent = header("x-internal-secret")
        if not sent:
            raise NoCredential("This is an internal route: send X-Internal-Secret.")
        if not hmac.compare_digest(sent.encode("utf-8", "surrogateescape"), self._secret):
            raise InvalidCredential("X-Internal-Secret is wrong.")
