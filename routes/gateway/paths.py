"""The paths of routes as Sanic registers them, with verbs behind a colon (`/tasks/{id}:cancel`)."""

import re
from collections.abc import Iterable, Mapping

from routes.gateway.route import Route

_PARAMETER = re.compile(r"{(\w+)}")
_VERB = re.compile(r"{(\w+)}:(\w+)$")

Verbs = Mapping[str, Route]
"""The routes of one method and path, by their verbs; the empty one is a route without a verb."""


def by_sanic_path(routes: Iterable[Route]) -> Mapping[tuple[str, str], Verbs]:
    """Return the routes by method and path of Sanic, whose parameters are whole segments."""
    found: dict[tuple[str, str], dict[str, Route]] = {}
    for route in routes:
        verb = _VERB.search(route.path)
        path = _VERB.sub(r"{\1}", route.path)
        found.setdefault((route.method, _sanic_path(path)), {})[verb[2] if verb else ""] = route
    return found


def chosen(verbs: Verbs, params: dict[str, str]) -> tuple[Route | None, dict[str, str]]:
    """Return the route of a request, None if there is none with its verb, and the parameters of its path."""
    named = {name: value for name, value in params.items() if not name.startswith("_")}
    if len(verbs) > 1 or "" not in verbs:
        last = list(named)[-1]
        value, colon, verb = named[last].rpartition(":")
        if colon and verb in verbs:
            return verbs[verb], named | {last: value}
    return verbs.get(""), named


def _sanic_path(path: str) -> str:
    *before, last = _PARAMETER.sub(r"<\1:str>", path).split("/")
    if ":" in last and not last.startswith("<"):  # Sanic quotes a colon in a path, so that it never matches
        last = f"<_verb:{re.escape(last)}>"
    return "/".join([*before, last])
