"""Routes for rules: placeholders that answer 501."""

from http import HTTPStatus
from typing import NoReturn

from actors.errors import NotImplementedYet
from routes.gateway.route import Route, RouteCall
from routes.openapi.schemas import record, ref


async def not_implemented(request: RouteCall) -> NoReturn:
    """Refuse with 501, because rules are not implemented."""
    raise NotImplementedYet("Rules are not implemented yet; nothing was done.")


def _rule(method: str, path: str, name: str, summary: str) -> Route:
    return Route(
        method,
        path,
        name,
        "Rules",
        f"{summary} (not implemented yet).",
        not_implemented,
        reply=record("An error.", status=ref("Status")),
        status=HTTPStatus.NOT_IMPLEMENTED,
    )


ROUTES = (
    _rule("GET", "/api/rules", "listRules", "List rules"),
    _rule("POST", "/api/rules", "createRule", "Create a rule"),
    _rule("GET", "/api/rules/{id}", "getRule", "Read a rule"),
    _rule("PUT", "/api/rules/{id}", "updateRule", "Replace a rule"),
    _rule("DELETE", "/api/rules/{id}", "deleteRule", "Remove a rule"),
)
