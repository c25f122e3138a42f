"""The messages of a request: what is said now, what was said before, and instructions.

They are read in slices, because a body may have a hundred thousand of them, or of parts of one.
"""

from typing import Any, NamedTuple, cast

from msgspec import Struct, structs

from actors.conversations.place import Earlier
from actors.slices import Steps
from routes.openai_api.members import MAX_TEXT, Members, checked_text, members, missing, wrong_type
from routes.openai_api.refusals import TOO_LONG, BadRequest, unsupported

_INSTRUCTING = ("system", "developer")
_LEFT_OUT = ("tool", "function")
_LEFT_OUT_ITEMS = ("_call", "_output", "reasoning")
"""How the types of items end that belong to calls of tools."""
_REFERENCE = "item_reference"
CALL = "fc_"
"""How the ids of calls of functions begin, which are left out as the calls themselves are."""

_GROUP = 64
"""Messages or parts that are read in one go."""

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of parts with a text, and the member that has it."""


class Reference(NamedTuple):
    """An item of an earlier response, sent as its id; `before` messages of `earlier` come before it."""

    id: str
    before: int
    param: str


class Dialogue(Struct, frozen=True):
    """The messages of a request: `said` is the last one, the user's; `earlier` those of user and assistant before.

    Up to `silent` more of the assistant's had no text, but calls of functions.
    """

    said: str
    earlier: tuple[Earlier, ...] = ()
    instructions: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    silent: int = 0


def chat_dialogue(body: Members) -> Steps[Dialogue]:
    """Read `messages` of a chat completion.

    Raises:
        BadRequest: they are malformed, have other parts than text, or don't end with the user's message.
    """
    sent = body.items("messages")
    if not sent:
        raise missing("messages")
    return (yield from _plain_dialogue(sent)) or (yield from _dialogue("messages", sent))


def input_dialogue(body: Members) -> Steps[Dialogue]:
    """Read `instructions` and `input` of a response: a text, or items.

    Raises:
        BadRequest: they are malformed, have other parts than text, or don't end with the user's message.
    """
    instructions = body.text("instructions")
    before = (instructions,) if instructions and instructions.strip() else ()
    sent = body.any("input")
    if isinstance(sent, str):
        return Dialogue(_said(checked_text(sent, "input"), "input"), instructions=before)
    if sent is not None and not isinstance(sent, list):
        raise wrong_type("input", "a string or an array of items")
    if not sent:
        raise missing("input")
    items = cast(list[Any], sent)
    read = (yield from _plain_dialogue(items)) or (yield from _dialogue("input", items))
    return structs.replace(read, instructions=before + read.instructions)


def _plain_dialogue(sent: list[Any]) -> Steps[Dialogue | None]:
    """Read messages that have a role and a text and nothing else, as most have; None if one needs a closer look."""
    said: list[Earlier] = []
    instructions: list[str] = []
    role = None
    for at, message in enumerate(sent, 1):
        if at % _GROUP == 0:
            yield
        if not isinstance(message, dict):
            return None
        pairs = cast(dict[str, Any], message)
        role, text = pairs.get("role"), pairs.get("content")
        if len(pairs) != 2 or not isinstance(text, str) or len(text) > MAX_TEXT or "\0" in text:
            return None
        if not text or text.isspace():
            return None
        if role == "user":
            said.append(Earlier("user", text))
        elif role == "assistant":
            said.append(Earlier("agent", text))
        elif role in _INSTRUCTING:
            instructions.append(text)
        else:
            return None
    if role != "user":
        return None
    return Dialogue(said.pop().text, tuple(said), tuple(instructions))


def _dialogue(param: str, sent: list[Any]) -> Steps[Dialogue]:
    last = members(sent[-1], f"{param}[{len(sent) - 1}]")
    _require_the_users(last, param)
    instructions: list[str] = []
    earlier: list[Earlier] = []
    references: list[Reference] = []
    silent = 0
    for at, item in enumerate(sent[:-1]):
        if at % _GROUP == 0:
            yield
        message = members(item, f"{param}[{at}]")
        if param == "input" and message.text("type") == _REFERENCE:
            references.append(Reference(message.required_text("id"), len(earlier), message.path("id")))
            silent += references[-1].id.startswith(CALL)
            continue
        if not _is_message(message):
            silent += message.text("type") == "function_call"
            continue
        role = message.required_text("role")
        if role in _LEFT_OUT:
            continue
        text = yield from _text_of(message)
        if role in _INSTRUCTING:
            instructions.append(text)
        elif role in ("user", "assistant"):
            if text.strip():
                earlier.append(Earlier("user" if role == "user" else "agent", text))
            else:
                silent += role == "assistant"
        else:
            path = message.path("role")
            raise BadRequest(f"Invalid value of {path}: send system, developer, user, assistant or tool.", path)
    said = _said((yield from _text_of(last)), last.path("content"))
    instructing = tuple([text for text in instructions if text.strip()])
    return Dialogue(said, tuple(earlier), instructing, tuple(references), silent)


def _require_the_users(last: Members, param: str) -> None:
    """Insist that the last message is the user's.

    Raises:
        BadRequest: it is another one, such as the result of a function.
    """
    is_message = last.text("type") != _REFERENCE and _is_message(last)
    role = last.text("role") if is_message else None
    if role == "user":
        return
    note = "The last message must be the user's: it is what is said to the agent."
    if not is_message or role in _LEFT_OUT:
        note += " Say the result of a function in the user's next message."
    raise BadRequest(note, param)


def _said(text: str, path: str) -> str:
    if not text.strip():
        raise missing(path)
    return text


def _is_message(item: Members) -> bool:
    """Return whether an item is a message, and not a call of a tool, which is left out.

    Raises:
        BadRequest: it is another item, which can't be left out.
    """
    kind = item.text("type")
    if kind is None or kind == "message":
        return True
    if kind.endswith(_LEFT_OUT_ITEMS):
        return False
    raise unsupported(item.path("type"), f"an item of type {kind[:80]} can't be sent; send messages.")


def _text_of(message: Members) -> Steps[str]:
    """Return the text of a message, with its parts joined.

    Raises:
        BadRequest: it has a part without text, or more than 32,000 characters.
    """
    path, content = message.path("content"), message.any("content")
    if content is None:
        return message.text("refusal") or ""
    if isinstance(content, str):
        return checked_text(content, path)
    if not isinstance(content, list):
        raise wrong_type(path, "a string or an array of parts")
    text = "".join((yield from _texts_of(cast(list[Any], content), path)))
    if len(text) > MAX_TEXT:
        raise BadRequest(f"{path} has {len(text):,} characters, and {MAX_TEXT:,} are allowed.", path, TOO_LONG)
    return text


def _texts_of(parts: list[Any], path: str) -> Steps[list[str]]:
    texts: list[str] = []
    for at, sent in enumerate(parts):
        if at % _GROUP == 0:
            yield
        part = members(sent, f"{path}[{at}]")
        kind = part.required_text("type")
        member = _TEXT_PARTS.get(kind)
        if member is None:
            raise unsupported(f"{path}[{at}]", f"agents read text, and this part is of type {kind[:80]}.")
        text = part.text(member)
        if text is None:
            raise missing(part.path(member))
        texts.append(text)
    return texts
