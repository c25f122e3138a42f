"""The request of a client of AG-UI, read from its RunAgentInput."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    Context,
    DeveloperMessage,
    Message,
    RunAgentInput,
    SystemMessage,
    TextPart,
    UserMessage,
)
from pydantic import BaseModel, ValidationError

from actors.calls.request import refusal_of
from actors.conversations.place import Earlier
from actors.errors import InvalidField, MissingField
from actors.slices import Steps
from routes.http.bodies import json_object
from routes.http.exchange import Received

MAX_CONTENT = 32_000
"""Characters of a message that is said to an agent."""

MAX_PARTS = 256
"""The largest number of parts of a message."""
GROUP = 8
"""Entries of a list that are validated in one go."""

_LISTS = ("messages", "context")
_NOT_USED = ("tools", "state", "forwardedProps")
_SPEAKERS = ("user", "assistant", "system", "developer")
_NOTHING = {"id": "", "role": "developer", "content": ""}
"""Stands for a message of others, so that those after it keep their places."""

_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True, slots=True)
class RunRequest:
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


def reading(received: Received) -> Steps[RunRequest]:
    """Read a body; members that are not used are ignored.

    Raises:
        MalformedBody, WrongMediaType: it is no JSON object.
        MissingField, InvalidField: a member is missing or wrong, or the gateway can't do what it asks for.
    """
    body = json_object(received.body, received.header("content-type"), len(received.body))
    yield
    used = {name: value for name, value in body.items() if name not in _NOT_USED}
    lists = {name: cast(list[Any], value) for name in _LISTS if isinstance(value := used.get(name), list)}
    if isinstance(used.get("resume"), list):
        used["resume"] = used["resume"][:1]  # any is refused
    used |= dict.fromkeys(lists, ())
    may_have_nul = b"\\u0000" in received.body
    if may_have_nul and _has_nul(used):
        raise _nul()
    try:
        sent = RunAgentInput.model_validate(used)
    except ValidationError as error:
        raise refusal_of(error, used) from None
    messages, around = _Messages(len(lists["messages"])), list[str]()
    yield from _validated("messages", lists["messages"], may_have_nul, messages.take)
    yield from _validated(
        "context",
        lists.get("context", []),
        may_have_nul,
        lambda _, one: around.append(f"{one.description}: {one.value}"),
    )
    for name, id in (("threadId", sent.thread_id), ("runId", sent.run_id)):
        if not _ID.fullmatch(id):
            raise InvalidField(f"Invalid value of {name}: send 1 to 200 visible characters.")
    if sent.resume:
        raise InvalidField("Invalid value of resume: no run of this gateway waits for an answer; leave it out.")
    last = messages.last
    if not isinstance(last, UserMessage):
        raise InvalidField("Invalid value of messages: the last one must be the user's, and is said to the agent.")
    text = _text(last.content, f"messages.{messages.count - 1}.content")
    if not text.strip():
        raise MissingField("missing messages content field: the last message has no text.")
    if len(text) > MAX_CONTENT:
        raise InvalidField(f"Invalid value of messages: the last one is longer than {MAX_CONTENT:,} characters.")
    return RunRequest(
        sent.thread_id,
        sent.run_id,
        sent.parent_run_id,
        text,
        last.id,
        tuple(messages.earlier),
        tuple(messages.earlier_ids),
        (*messages.told, *around),
        messages.too_long,
    )


class _Messages:
    """Takes the messages of a body one by one, and keeps the last one and the texts of those before it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.last: Message | None = None
        self.earlier: list[Earlier] = []
        self.earlier_ids: list[str] = []
        """The client's own ids of `earlier`; those of agents are empty."""
        self.told: list[str] = []
        self.too_long: str | None = None

    def take(self, place: int, message: Message) -> None:
        """Take the next message; tools' and others' have no place in a conversation."""
        if place == self.count - 1:
            self.last = message
            return
        path = f"messages.{place}.content"
        match message:
            case UserMessage():
                one, id = Earlier("user", _text(message.content, path)), message.id
            case AssistantMessage():
                one, id = Earlier("agent", message.content or ""), ""
            case SystemMessage() | DeveloperMessage():
                if message.content.strip():
                    self.told.append(message.content)
                return
            case _:
                return
        if one.text.strip():
            self.earlier.append(one)
            self.earlier_ids.append(id)
            if self.too_long is None and len(one.text) > MAX_CONTENT:
                self.too_long = path


class _Group(BaseModel):
    """Some of the entries of a list, by their places in it."""

    messages: dict[int, Message] = {}
    context: dict[int, Context] = {}


def _validated(name: str, sent: list[Any], may_have_nul: bool, take: Callable[[int, Any], None]) -> Steps[None]:
    """Validate a list of messages, of which but for the last only texts are used, or of the client's surroundings.

    `take` gets each entry with its place.

    The whole list at once would block the loop: its models, and even more so an error for each of its entries.

    Raises:
        MissingField, InvalidField: an entry is wrong.
    """
    for start in range(0, len(sent), GROUP):
        group = dict(enumerate(sent[start : start + GROUP], start))
        if name == "messages":
            last = len(sent) - 1
            group = {at: _with_few_parts(one) if at == last else _said(one) for at, one in group.items()}
        if may_have_nul and _has_nul(group):
            raise _nul()
        try:
            valid = _Group.model_validate({name: group})
        except ValidationError as error:
            raise refusal_of(error, {name: group}) from None
        for place, entry in getattr(valid, name).items():
            take(place, entry)
        yield


def _nul() -> InvalidField:
    return InvalidField("Invalid value of the body: a text must not contain NUL.")


def _said(message: Any) -> Any:
    """Leave out what is not used of an earlier message, so that its shape is no matter: all but a text."""
    if not isinstance(message, dict) or "role" not in message:
        return cast(Any, message)
    sent = cast(dict[str, Any], message)
    if sent["role"] not in _SPEAKERS:
        return _NOTHING
    said = {name: sent[name] for name in ("id", "role", "content") if name in sent}
    content = said.get("content")
    if isinstance(content, list):
        said["content"] = [part for part in cast(list[Any], content) if not _is_no_text(part)]
    return _with_few_parts(said)


def _with_few_parts(message: Any) -> Any:
    """Return a message as it is.

    Raises:
        InvalidField: it has more parts than are validated in one go.
    """
    content = cast(dict[str, Any], message).get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and len(cast(list[Any], content)) > MAX_PARTS:
        raise InvalidField(f"Invalid value of messages: one has more than {MAX_PARTS} parts.")
    return cast(Any, message)


def _is_no_text(part: Any) -> bool:
    return isinstance(part, dict) and cast(dict[str, Any], part).get("type") != "text"


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
