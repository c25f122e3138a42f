"""What a client of AG-UI asks for, read from its RunAgentInput."""

import re
from dataclasses import dataclass
from typing import Any, cast

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DeveloperMessage,
    Message,
    RunAgentInput,
    SystemMessage,
    TextPart,
    UserMessage,
)
from pydantic import ValidationError

from actors.calls.request import refusal_of
from actors.conversations.place import Earlier
from actors.errors import InvalidField, MissingField
from routes.http.bodies import json_object
from routes.http.exchange import Received

MAX_CONTENT = 32_000
"""Characters of a message that is said to an agent."""

_NOT_USED = ("tools", "state", "forwardedProps")
_SPEAKERS = ("user", "assistant", "system", "developer")
_NOTHING = {"id": "", "role": "developer", "content": ""}
"""Stands for a message of others, so that those after it keep their places."""

_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that a client asks for.

    `message_id` is the client's own id of the message. `earlier` are the messages before it, with the client's own ids
    of those of the user in `earlier_ids`, and `instructions` those of the system and the developer and what the client
    says of its surroundings. `too_long` is the path of the first of `earlier` that can't be imported, if there is one.
    """

    thread_id: str
    run_id: str
    parent_run_id: str | None
    text: str
    message_id: str
    earlier: tuple[Earlier, ...]
    earlier_ids: tuple[str, ...]
    instructions: tuple[str, ...]
    too_long: str | None = None

    def require_importable(self) -> None:
        """Refuse to begin a thread with a message that is too long.

        Raises:
            InvalidField: there is one.
        """
        if self.too_long is not None:
            raise InvalidField(f"Invalid value of {self.too_long}: it is longer than {MAX_CONTENT:,} characters.")


def read(received: Received) -> Asked:
    """Read a body; members that are not used are ignored.

    Raises:
        MalformedBody, WrongMediaType: it is no JSON object.
        MissingField, InvalidField: a member is missing or wrong, or the gateway can't do what it asks for.
    """
    body = _used(json_object(received.body, received.header("content-type"), len(received.body)))
    if b"\\u0000" in received.body and _has_nul(body):
        raise InvalidField("Invalid value of the body: a text must not contain NUL.")
    try:
        sent = RunAgentInput.model_validate(body)
    except ValidationError as error:
        raise refusal_of(error, body) from None
    for name, id in (("threadId", sent.thread_id), ("runId", sent.run_id)):
        if not _ID.fullmatch(id):
            raise InvalidField(f"Invalid value of {name}: send 1 to 200 visible characters.")
    if sent.resume:
        raise InvalidField("Invalid value of resume: no run of this gateway waits for an answer; leave it out.")
    before, last = sent.messages[:-1], sent.messages[-1] if sent.messages else None
    if not isinstance(last, UserMessage):
        raise InvalidField("Invalid value of messages: the last one must be the user's, and is said to the agent.")
    text = _text(last.content, f"messages.{len(before)}.content")
    if not text.strip():
        raise MissingField("missing messages content field: the last message has no text.")
    if len(text) > MAX_CONTENT:
        raise InvalidField(f"Invalid value of messages: the last one is longer than {MAX_CONTENT:,} characters.")
    told = [message.content for message in before if isinstance(message, SystemMessage | DeveloperMessage)]
    around = [f"{one.description}: {one.value}" for one in sent.context or ()]
    instructions = tuple(text for text in (*told, *around) if text.strip())
    earlier = _earlier(before)
    said, ids = tuple(one for one, _, _ in earlier), tuple(id for _, id, _ in earlier)
    too_long = next((f"messages.{place}.content" for one, _, place in earlier if len(one.text) > MAX_CONTENT), None)
    return Asked(sent.thread_id, sent.run_id, sent.parent_run_id, text, last.id, said, ids, instructions, too_long)


def _used(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not used, so that its shape is no matter: members, and of earlier messages all but texts."""
    used = {name: value for name, value in body.items() if name not in _NOT_USED}
    messages = body.get("messages")
    if isinstance(messages, list) and messages:
        *before, last = cast(list[Any], messages)
        used["messages"] = [*map(_said, before), last]
    return used


def _said(message: Any) -> Any:
    if not isinstance(message, dict) or "role" not in message:
        return cast(Any, message)
    sent = cast(dict[str, Any], message)
    if sent["role"] not in _SPEAKERS:
        return _NOTHING
    said = {name: sent[name] for name in ("id", "role", "content") if name in sent}
    content = said.get("content")
    if isinstance(content, list):
        said["content"] = [part for part in cast(list[Any], content) if not _is_no_text(part)]
    return said


def _is_no_text(part: Any) -> bool:
    return isinstance(part, dict) and cast(dict[str, Any], part).get("type") != "text"


def _earlier(messages: list[Message]) -> list[tuple[Earlier, str, int]]:
    """Return the messages of users and agents that have a text; tools' and others' have no place in a conversation.

    Beside each stand the client's own id of it, if it is a user's, and its place among `messages`.
    """
    found: list[tuple[Earlier, str, int]] = []
    for place, message in enumerate(messages):
        if isinstance(message, UserMessage):
            text = _text(message.content, f"messages.{place}.content")
            found.append((Earlier("user", text), message.id, place))
        elif isinstance(message, AssistantMessage) and message.content:
            found.append((Earlier("agent", message.content), "", place))
    return [(one, id, place) for one, id, place in found if one.text.strip()]


def _text(content: str | list[ContentPart], path: str) -> str:
    """Return the text of a message, with its parts joined.

    Raises:
        InvalidField: a part is no text.
    """
    if isinstance(content, str):
        return content
    for place, part in enumerate(content):
        if not isinstance(part, TextPart):
            raise InvalidField(f"Invalid value of {path}.{place}: agents read text only; send parts of type text.")
    return "".join(part.text for part in content if isinstance(part, TextPart))


def _has_nul(value: object) -> bool:
    match value:
        case str():
            return "\0" in value
        case dict():
            return any(map(_has_nul, value.values()))  # pyright: ignore[reportUnknownArgumentType]
        case list():
            return any(map(_has_nul, value))  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return False
