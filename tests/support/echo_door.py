"""A door of a protocol of the tests, which chats with an agent and repeats what it was asked."""

from typing import Any

import orjson

from actors.calls.request import MEMBERS, parse
from actors.commands.chat import chat
from actors.errors import ServiceError
from routes.doors.door import Door, Refusal
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.exchange import Received


def refusal(error: ServiceError, body: bytes) -> Refusal:
    shown = {"oops": error.internal_code, "body": body.decode()}
    return Refusal(418 if error.http_code == 404 else error.http_code, orjson.dumps(shown), {"X-Oops": "yes"})


def stream_error(error: ServiceError, body: bytes) -> bytes:
    return b"oops %d %b\n" % (error.internal_code, body)


DOOR = Door(refusal, stream_error, {"type": "object"}, "Send it again.", prefix="/echo")


def read(received: Received) -> dict[str, Any]:
    """Read a body of any media type, whatever members it has."""
    return orjson.loads(received.body)


async def talk(request: RouteCall) -> RouteReply:
    """Chat with the agent of the path; the answer is streamed if the body asks for it."""
    call, body, stream = request.call, request.body, request.stream
    assert stream is not None
    call.says(parse({"target": {"agent": request.params["agent"]}, "content": body["text"]}, MEMBERS))

    def progress(piece: str) -> None:
        if not stream.begun:
            stream.begin({"X-Echo": "streamed"}, media_type=body.get("media_type", "text/x-echo"))
        stream.send(f"piece {piece}\n".encode())

    stream.silent_s = 0.1
    if body.get("stream"):
        call.stream_to(progress)
    reply = (await chat(call)).content[1]
    if stream.begun:
        stream.send(b"end\n")
    return RouteReply(reply["content"].encode(), headers={"X-Echo": "whole"}, media_type="text/plain")


async def look(request: RouteCall) -> RouteReply:
    """Return what the route got."""
    caller, header = request.call.caller, request.received.header
    return RouteReply(
        {
            "user": caller and caller.user_name,
            "params": request.params,
            "base_url": request.base_url,
            "version": header("a2a-version"),
        }
    )


async def verb(request: RouteCall) -> RouteReply:
    """Return the parameters of a path with a verb."""
    return RouteReply({"verb": True, **request.params})


def _route(method: str, path: str, name: str, **more: Any) -> Route:
    run = more.pop("run", verb)
    return Route(method, path, name, "Echo", "For tests.", run, door=DOOR, **more)


ROUTES = (
    _route("POST", "/echo/{agent}", "echoTalk", run=talk, mutates=True, streams=True, parse=read),
    _route("GET", "/echo/{agent}/look", "echoLook", run=look, entrance="guest", counts=False),
    _route("GET", "/echo/{agent}/things/{id}", "echoThing", run=look, entrance="guest"),
    _route("GET", "/echo/{agent}/things/{id}:follow", "echoFollow", counts=False),
    _route("POST", "/echo/{agent}/things/{id}:stop", "echoStop", mutates=True),
    _route("POST", "/echo/{agent}/thing:make", "echoMake", mutates=True),
)
