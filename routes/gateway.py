"""Gateway routes of the foundation: health, the billing hook, live actors (product 8)."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import wraps
from time import monotonic
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sanic import Blueprint, HTTPResponse, Request

from actors.core import Core
from actors.errors import (
    InvalidCredential,
    InvalidField,
    NoCredential,
    NoSuchRoute,
    NotFound,
)
from actors.plans import PLANS
from actors.records import own_user_record
from actors.request import wrong_fields
from actors.user import SetPlan, no_such_user
from persistence import users
from routes.answers import JsonAnswer, json_response, request_id_of
from routes.bodies import header, json_object, received_body

Handler = Callable[..., Awaitable[HTTPResponse]]


class PlanChange(BaseModel):
    """Body of the billing hook."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    plan: Literal["free", "builder", "scale", "enterprise"] = Field(description="The user's plan from now on.")
    limit: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Requests per UTC day, for enterprise only; without limit when absent."
    )


class InternalDoor:
    """Guards the internal routes with X-Internal-Secret: 404 while there is none, 401 without the right one."""

    def __init__(self, secret: str | None) -> None:
        self._secret = None if secret is None else secret.encode()

    def guard(self, handler: Handler) -> Handler:
        """Wrap a handler so that only who knows the secret reaches it."""

        @wraps(handler)
        async def guarded(request: Request, **params: str) -> HTTPResponse:
            self._check(request)
            return await handler(request, **params)

        return guarded

    def _check(self, request: Request) -> None:
        if self._secret is None:
            raise NoSuchRoute("There is no such route.")
        sent = header(request, "x-internal-secret")
        if not sent:
            raise NoCredential("This is an internal route: send X-Internal-Secret.")
        if not hmac.compare_digest(sent.encode("utf-8", "surrogateescape"), self._secret):
            raise InvalidCredential("X-Internal-Secret is wrong.")


def health_blueprint(core: Core, version: str) -> Blueprint:
    """Make GET /api/health."""
    blueprint = Blueprint("health", url_prefix="/api")
    started = monotonic()

    @blueprint.get("/health")
    async def health(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        writable = await core.store.writable()
        body = {
            "status": "ok" if writable else "unavailable",
            "version": version,
            "uptime_s": round(monotonic() - started, 3),
            "storage": "ok" if writable else "unavailable",
            "actors": len(core.directory),
        }
        headers = {"X-Request-Id": request_id_of(request)} | ({} if writable else {"Retry-After": "1"})
        return JsonAnswer(orjson.dumps(body), 200 if writable else 503, headers)

    return blueprint


def admin_blueprint(core: Core, door: InternalDoor, max_body_bytes: int) -> Blueprint:
    """Make PUT /api/admin/users/{name}/plan, the billing hook."""
    blueprint = Blueprint("admin", url_prefix="/api/admin")

    @blueprint.put("/users/<name:str>/plan", ignore_body=True)
    @door.guard
    async def set_plan(request: Request, name: str) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        try:
            body = json_object(await received_body(request), header(request, "content-type"), max_body_bytes)
            change = PlanChange.model_validate(body)
        except ValidationError as error:
            raise InvalidField(wrong_fields(error)) from None
        if change.limit is not None and PLANS[change.plan].limit is not None:
            raise InvalidField("Invalid value of limit: only enterprise has a limit of its own.")
        found = await core.store.fetch(users.id_by_name(name))
        if not found:
            raise no_such_user()
        (owned,) = await core.store.fetch(users.owned(found[0]))
        user = await core.directory.ask("user", found[0], SetPlan(change.plan, change.limit))
        return json_response(request, own_user_record(user, *owned, core.clock()))

    return blueprint


def debug_blueprint(core: Core, door: InternalDoor) -> Blueprint:
    """Make /debug/actors: every live actor, for maintainers."""
    blueprint = Blueprint("debug", url_prefix="/debug")

    @blueprint.get("/actors")
    @door.guard
    async def actors(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        query: Any = request.get_args(keep_blank_values=True)
        kind = query.get("kind") or None
        limit = _limit(query.get("limit"))
        listed: list[dict[str, Any]] = []
        for status in core.directory.statuses(kind):
            if len(listed) == limit:
                break
            listed.append(asdict(status))
        return json_response(request, {"counts": core.directory.count_by_kind(), "actors": listed})

    @blueprint.get("/actors/<kind:str>/<key:str>")
    @door.guard
    async def actor(request: Request, kind: str, key: str) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        found = core.directory.inspect(kind, key)
        if found is None:
            raise NotFound("No such actor is live now; list those that are with GET /debug/actors.")
        status, state = found
        return json_response(request, asdict(status) | {"state": state})

    return blueprint


def _limit(text: str | None) -> int:
    """Read `limit`, 1 to 10,000; 1,000 when absent."""
    if text is None:
        return 1_000
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 10_000:
        raise InvalidField("Invalid value of limit: a number from 1 to 10,000.")
    return int(text)
