"""A Sanic router that also answers HEAD on every GET route."""

from typing import Any

from sanic.exceptions import MethodNotAllowed
from sanic.router import Router


class GetAndHead(Router):
    """Routes HEAD to the handler of GET; Sanic omits the body of the answer (RFC 9110, 9.3.2)."""

    def _get(self, path: str, method: str, host: str | None) -> Any:
        try:
            return super()._get(path, "GET" if method == "HEAD" else method, host)
        except MethodNotAllowed as error:
            allowed = set(error.allowed_methods or ())
            if "GET" in allowed:
                allowed.add("HEAD")
            raise MethodNotAllowed(str(error), method, sorted(allowed)) from None
