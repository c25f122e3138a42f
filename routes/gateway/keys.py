"""Routes for API keys and sandbox keys."""

from typing import Annotated

from pydantic import Field

from actors.calls.request import Body, RequiredReference
from actors.commands import keys
from actors.commands.keys import AskedScopes
from actors.quotas.records import window_of
from actors.sessions.records import key_record
from actors.wire import iso
from persistence.credentials import SessionRow
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import PLAN, TIME, Schema, array, flag, ident, nullable, number, record, ref, text

MAX_DAYS = 3650


MAX_LISTED = 100

Names = Annotated[list[RequiredReference], Field(max_length=MAX_LISTED)]


class KeyScopes(Body):
    """The scopes of a key; an absent list is no restriction, an empty one allows nothing."""

    services: Names | None = Field(
        None,
        description="Services by name, or groups as `AP_*`; of the routes beside the bus only those of open protocols.",
    )
    agents: Names | None = Field(None, description="Agents by name; kept by id, so a new name changes nothing.")
    banks: Names | None = Field(None, description="Banks by name.")
    domains: Names | None = Field(None, description="Domains by name.")
    read_only: bool | None = Field(None, description="Whether it changes nothing, so it can't chat either.")
    admin: bool | None = Field(None, description="Whether it opens the operator's routes as its user's session does.")


class NewKey(Body):
    """Body of a new API key."""

    name: RequiredReference = Field(description="Its purpose, 1 to 200 characters.")
    expires_in_days: Annotated[int, Field(ge=1, le=MAX_DAYS)] | None = Field(
        None, description="Days from now until it expires; absent: never."
    )
    scopes: KeyScopes | None = Field(None, description="What it may do; absent: all that its user may.")
    limit: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Its requests per UTC day, which also count for its user; absent: only the user's limit."
    )


async def create(request: RouteCall) -> RouteReply:
    """Create an API key; only this answer shows it."""
    body: NewKey = request.body
    scopes = None if body.scopes is None else AskedScopes(**body.scopes.model_dump(exclude_none=True))

    def created(row: SessionRow, key: str) -> RouteReply:
        shown = key_record(row)
        return RouteReply({"id": shown.pop("id"), "name": shown.pop("name"), "key": key, **shown}, 201)

    return await keys.create_key(request.call, body.name, body.expires_in_days, scopes, body.limit, created)


async def list_keys(request: RouteCall) -> RouteReply:
    """List the API keys."""
    rows = await keys.list_keys(request.call)
    listed = [key_record(row) | {"last_used_at": iso(row.last_used_at) if row.last_used_at else None} for row in rows]
    return RouteReply({"api_keys": listed})


async def revoke(request: RouteCall) -> RouteReply:
    """Revoke an API key at once."""
    return await keys.revoke_key(request.call, request.params["id"], lambda _: RouteReply(status=204))


async def issue_sandbox_key(request: RouteCall) -> RouteReply:
    """Issue a sandbox key."""
    row, key, quota = await keys.issue_sandbox_key(request.call)
    body = {
        "id": row.id,
        "key": key,
        "plan": quota.plan,
        "limit": quota.limit,
        "window": window_of(quota),
    }
    return RouteReply(body, 201)


_KEY = {
    "id": ident("key"),
    "name": text(),
    "prefix": text("Its first characters, to recognize it.", example="plk_0aB1"),
    "created_at": TIME,
    "expires_at": nullable(TIME),
}
_SCOPES = {
    "scopes": {"type": "object", "allOf": [ref("ShownScopes")], "description": "Shown if they were given."},
    "limit": number("Requests a day; shown if it was given."),
}
SCHEMAS: dict[str, Schema] = {
    "ShownScopes": record(
        "What a key may do, with the names as they were given; null is no restriction.",
        services=nullable(array(text())),
        agents=nullable(array(text())),
        banks=nullable(array(text())),
        domains=nullable(array(text())),
        read_only=flag(),
        admin=flag(),
    )
}


def _key(description: str, **more: Schema) -> Schema:
    """Return the schema of a key with its optional members."""
    made = record(description, **_KEY, **more)
    made["properties"] |= _SCOPES
    return made


_SECRET = text("The key; only this answer shows it.", pattern="^pl[kx]_[0-9A-Za-z]{38}$")

ROUTES = (
    Route(
        "POST",
        "/api/dev/sandbox-key",
        "issueSandboxKey",
        "API Keys",
        "Issue a sandbox key: 100 requests a day as a temporary user.",
        issue_sandbox_key,
        reply=record(
            "A sandbox key.",
            id=ident("key"),
            key=_SECRET,
            plan=PLAN,
            limit=number("Requests a day."),
            window=text("The day that counts now.", format="date"),
        ),
        status=201,
        errors=(403, 429),
        entrance="open",
        mutates=True,
    ),
    Route(
        "POST",
        "/api/api-keys",
        "createApiKey",
        "API Keys",
        "Create an API key; needs a session and an entitlement.",
        create,
        reply=_key("An API key; only this answer shows it.", key=_SECRET),
        status=201,
        body=NewKey,
        errors=(404, 409),
        mutates=True,
        example={"name": "nightly job", "expires_in_days": 90, "scopes": {"services": ["AP_Chat"]}, "limit": 500},
    ),
    Route(
        "GET",
        "/api/api-keys",
        "listApiKeys",
        "API Keys",
        "List the API keys; needs a session and an entitlement.",
        list_keys,
        reply=record("The API keys.", api_keys=array(_key("An API key.", last_used_at=nullable(TIME)))),
        errors=(403,),
    ),
    Route(
        "DELETE",
        "/api/api-keys/{id}",
        "revokeApiKey",
        "API Keys",
        "Revoke an API key at once.",
        revoke,
        status=204,
        errors=(404,),
        mutates=True,
    ),
)
