"""Runs of AG-UI over plain HTTP."""

from typing import Any
from uuid import uuid4

import orjson

from tests.support.gateway import Answer, Client


def user_says(text: str, id: str | None = None) -> dict[str, Any]:
    """Return a message of the user, with an id of the client's."""
    return {"id": id or str(uuid4()), "role": "user", "content": text}


def run_input(*messages: dict[str, Any], thread: str | None = None, run: str | None = None, **more: Any) -> Any:
    """Return what a client sends; ids that are not given are the client's own UUIDs."""
    ids = {"threadId": thread or str(uuid4()), "runId": run or str(uuid4())}
    return {**ids, "messages": list(messages), "tools": [], "context": [], "forwardedProps": {}, "state": {}, **more}


async def run(client: Client, agent: str, sent: Any, **headers: str) -> Answer:
    """Run an agent; the body of the answer is its events, or the error."""
    answer = await client.request("POST", f"/ag-ui/{agent}", json=sent, headers=headers)
    if isinstance(answer.body, str):
        answer.body = events_in(answer.body)
    return answer


def events_in(stream: str) -> list[dict[str, Any]]:
    """Return the events of a stream."""
    return [orjson.loads(block.removeprefix("data: ")) for block in stream.split("\n\n") if block]


def types_of(answer: Answer) -> list[str]:
    """Return the types of an answer's events, those of neighbours once."""
    types: list[str] = []
    for event in answer.body:
        if types[-1:] != [event["type"]]:
            types.append(event["type"])
    return types


def said(answer: Answer) -> str:
    """Return the whole text of an answer."""
    return "".join(event["delta"] for event in answer.body if event["type"] == "TEXT_MESSAGE_CONTENT")


def reply_of(answer: Answer) -> dict[str, Any]:
    """Return the reply of an answer as a client keeps it."""
    (start,) = [event for event in answer.body if event["type"] == "TEXT_MESSAGE_START"]
    return {"id": start["messageId"], "role": "assistant", "content": said(answer)}


async def history(client: Client, conversation: str) -> list[dict[str, Any]]:
    """Return the messages of a conversation, as AP_History lists them."""
    return (await client.command("AP_History", target={"conversation": conversation})).ok().content


def texts(messages: list[dict[str, Any]]) -> list[str]:
    """Return the texts of messages."""
    return [message["content"] for message in messages]
