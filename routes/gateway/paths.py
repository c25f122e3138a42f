"""The paths of routes as Sanic registers them, with verbs behind a colon (`/tasks/{id}:cancel`)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from sanic.exceptions import MethodNotAllowed, NotFound

from routes.gateway.route import Route

_PARAMETER = re.compile(r"{(\w+)}")
_VERB = re.compile(r"{(\w+)}:(\w+)$")
_COLON = "(?::|%3[aA])"
"""A colon in a path, which clients may encode (RFC 3986, 2.2)."""
_WITH_VERB = re.compile(rf"(.*){_COLON}(\w+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verbs:
    """The routes of one method and path, by their verbs; the empty one is a route without a verb."""

    routes: dict[str, Route]
    methods: dict[str, list[str]]
    """The methods of each verb of the path, for refusals of other ones."""
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The parameters that the path itself tells, at a route's `hidden_at`."""


def by_sanic_path(routes: Iterable[Route]) -> Mapping[tuple[str, str], Verbs]:
    """Return the routes by method and path of Sanic, whose parameters are whole segments."""
    found: dict[tuple[str, str], Verbs] = {}
    methods: dict[str, dict[str, list[str]]] = {}
    for route in routes:
        match = _VERB.search(route.path)
        verb = match[2] if match else ""
        path = _sanic_path(_VERB.sub(r"{\1}", route.path))
        of_path = methods.setdefault(path, {})
        of_path.setdefault(verb, []).append(route.method)
        found.setdefault((route.method, path), Verbs({}, of_path)).routes[verb] = route
        if route.hidden_at is not None:
            hidden, known = route.hidden_at
            found[route.method, hidden] = Verbs({"": route}, {"": [route.method]}, known)
    return found


def chosen(verbs: Verbs, method: str, params: dict[str, str]) -> tuple[Route, dict[str, str]]:
    """Return the route of a request, and the parameters of its path.

    Raises:
        MethodNotAllowed: its verb exists with other methods.
        NotFound: there is no such verb.
    """
    named = {**verbs.known, **{name: value for name, value in params.items() if not name.startswith("_")}}
    verb = ""
    if len(verbs.methods) > 1 or "" not in verbs.methods:
        last = list(named)[-1]
        found = _WITH_VERB.fullmatch(named[last])
        if found and found[2] in verbs.methods:
            verb, named = found[2], named | {last: found[1]}
        elif ":" in named[last] and "" not in verbs.routes:
            raise NotFound
    if verb in verbs.routes:
        return verbs.routes[verb], {name: _decoded(value) for name, value in named.items()}
    allowed = verbs.methods.get(verb)
    if allowed is None:
        raise NotFound
    heads = ["HEAD"] if "GET" in allowed else []
    raise MethodNotAllowed("The verb is not there with this method.", method, sorted([*allowed, *heads]))


def _decoded(segment: str) -> str:
    """Return a segment of a path without percent-encoding (RFC 3986, 2.1); what stands for no text stays encoded."""
    if "%" not in segment:
        return segment
    try:
        text = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        return segment
    return segment if "\0" in text else text


def takes(verbs: Verbs, method: str, params: dict[str, str]) -> bool:
    """Return whether there is a route for a request's verb with this method."""
    try:
        chosen(verbs, method, params)
    except (MethodNotAllowed, NotFound):
        return False
    return True


def _sanic_path(path: str) -> str:
    *before, last = _PARAMETER.sub(r"<\1:str>", path).split("/")
    if ":" in last and not last.startswith("<"):  # Sanic quotes a colon in a path, so that it never matches
        last = f"<_verb:{re.escape(last).replace(':', _COLON)}>"
    return "/".join([*before, last])
