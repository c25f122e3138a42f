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
            allowed = set(error.allowed_methods or self._methods_of(path, host))
            if "GET" in allowed:
                allowed.add("HEAD")
            raise MethodNotAllowed(str(error), method, sorted(allowed)) from None

    def _methods_of(self, path: str, host: str | None) -> set[str]:
        """Return the methods that a path takes; Sanic doesn't tell them where routes with parameters share it."""
        return {method for method in self.ALLOWED_METHODS if self._takes(path, method, host)}

    def _takes(self, path: str, method: str, host: str | None) -> bool:
        """Return whether a route takes a method; one whose paths end in verbs says so itself, as `ctx.takes`."""
        try:
            route, _, params = super()._get(path, method, host)
        except MethodNotAllowed:
            return False
        takes = getattr(route.ctx, "takes", None)
        return takes is None or takes(params)
