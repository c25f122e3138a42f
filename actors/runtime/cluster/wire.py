"""Messages, replies, errors and notices in their binary form (msgpack), in which they cross to another node.

Members travel by name and are read against their declared types: a member that the reader does not know is ignored,
and one that is missing gets its default, so that two versions next to each other understand each other.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NoReturn, cast, get_args, get_origin

import msgspec

from actors.errors import InternalError, ServiceError
from actors.runtime.cluster.older import without_new_members
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, Tell
from actors.runtime.notices import Announced, Notice, Reload, ReloadConcerning, Told


class Unreadable(Exception):
    """The other node's version has a message that this one does not know, or one of another form."""


def encode_ask(kind: str, key: str, message: Ask[Any]) -> bytes:
    """Return an ask in its binary form, with the kind and key of its actor.

    Raises:
        TypeError: messages of this type never leave their process (`Ask.local`).
    """
    return _pack((kind, key, _name_of(message), message))


def decode_ask(data: bytes) -> tuple[str, str, Ask[Any]]:
    """Return the kind and key of the actor, and the ask.

    Raises:
        Unreadable: this version does not know it.
    """
    kind, key, name, message = _read(_ASK, data)
    return kind, key, _read(_decoder(_type(Ask, name)), message)


def encode_reply(message_type: type[Ask[Any]], reply: Any) -> bytes:
    """Return the reply to an ask of a type in its binary form.

    A future in it is left out, because the reply may be shown once it is resolved (`unresolved`).

    Raises:
        TypeError: a future in it is not resolved, or has failed.
    """
    return _pack(reply)


def decode_reply(message_type: type[Ask[Any]], data: bytes) -> Any:
    """Return the reply to an ask of a type.

    Raises:
        Unreadable: this version expects another one.
    """
    return _read(_decoder(_reply_of(message_type)), data)


def unresolved(reply: Any) -> list[AsyncFuture[Any]]:
    """Return the futures in a reply that it has to wait for before it crosses."""
    members = cast("tuple[Any, ...]", reply) if isinstance(reply, tuple) else ()
    return [member for member in members if isinstance(member, AsyncFuture) and not member.done()]


def encode_error(error: ServiceError) -> bytes:
    """Return the error of a request in its binary form."""
    return _pack((type(error).__name__, error.internal_code, error.http_code, error.note, error.retry_after))


def raise_error(data: bytes) -> NoReturn:
    """Raise an error as the other node raised it: of the same class, or of the one with its codes.

    Raises:
        ServiceError: always.
        Unreadable: it is none.
    """
    name, internal_code, http_code, note, retry_after = _read(_ERROR, data)
    made = _types(ServiceError).get(name) or _by_codes().get((internal_code, http_code), InternalError)
    raise made(note, retry_after=retry_after)


def encode_notice(notice: Notice) -> tuple[str, str, bytes]:
    """Return a notice as its kind, the actors concerned as a JSON object, and the message for them, if there is one.

    Raises:
        TypeError: messages of this type never leave their process (`Tell.local`).
    """
    match notice:
        case Told(kind, key, message):
            target = {"kind": kind, "key": key, "message": _name_of(message)}
            return "told", _json(target), _pack(message)
        case Reload():
            return "reload", _json(notice), b""
        case ReloadConcerning():
            return "reload_concerning", _json(notice), b""
        case Announced(message):
            return "announced", _json({"message": _name_of(message)}), _pack(message)


def decode_notice(kind: str, target: str, message: bytes) -> Notice:
    """Return a notice from the parts that `encode_notice` made.

    Raises:
        Unreadable: this version does not know it.
    """
    match kind:
        case "told":
            actor = _read(_TARGET, target.encode())
            return Told(actor["kind"], actor["key"], _read(_decoder(_type(Tell, actor["message"])), message))
        case "reload":
            return _read(_RELOAD, target.encode())
        case "reload_concerning":
            return _read(_CONCERNING, target.encode())
        case "announced":
            announced = _read(_TARGET, target.encode())
            return Announced(_read(_decoder(_type(Tell, announced["message"])), message))
        case _:
            raise Unreadable(f"no notice has the kind {kind!r}")


def encode_events(sender: str, events: Sequence[tuple[int, str | None, bytes]]) -> bytes:
    """Return numbered events of streams in their binary form, with the node that publishes them."""
    return _pack((sender, events))


def decode_events(data: bytes) -> tuple[str, list[tuple[int, str | None, bytes]]]:
    """Return the sender and the events that `encode_events` was given.

    Raises:
        Unreadable: this version does not know their form.
    """
    return _read(_EVENTS, data)


def _without(live: Any) -> None:
    """Encode what msgspec can't: a future that is resolved, as None."""
    if not (isinstance(live, AsyncFuture) and live.done() and live.error is None):
        raise TypeError(f"{live!r} has no binary form")


_pack: Callable[[Any], bytes] = msgspec.msgpack.Encoder(enc_hook=_without).encode

_ASK: Callable[[bytes], tuple[str, str, str, msgspec.Raw]] = msgspec.msgpack.Decoder(
    tuple[str, str, str, msgspec.Raw]
).decode
_ERROR: Callable[[bytes], tuple[str, int, int, str, int | None]] = msgspec.msgpack.Decoder(
    tuple[str, int, int, str, int | None]
).decode
_EVENTS = msgspec.msgpack.Decoder(tuple[str, list[tuple[int, str | None, bytes]]]).decode
_TARGET = msgspec.json.Decoder(dict[str, str]).decode
_RELOAD = msgspec.json.Decoder(Reload).decode
_CONCERNING = msgspec.json.Decoder(ReloadConcerning).decode


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _read(decode: Callable[[Any], Any], data: Any) -> Any:
    try:
        return decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from error


@cache
def _decoder(of: Any) -> Callable[[Any], Any]:
    """Return what reads a type; only messages of another version take the second look."""
    decode = msgspec.msgpack.Decoder(of).decode

    def read(data: Any) -> Any:
        try:
            return decode(data)
        except msgspec.ValidationError:
            return msgspec.convert(without_new_members(of, msgspec.msgpack.decode(data)), of)

    return read


@cache
def _reply_of(message_type: type[Ask[Any]]) -> Any:
    """Return the type `R` of a subclass of `Ask[R]`."""
    bases: tuple[Any, ...] = getattr(message_type, "__orig_bases__", ())
    return next(get_args(base)[0] for base in bases if get_origin(base) is Ask)


def _name_of(message: Ask[Any] | Tell) -> str:
    if message.local:
        raise TypeError(f"{type(message).__name__} never leaves its process: {message.local}")
    return type(message).__name__


def _type(base: type[Any], name: str) -> type[Any]:
    if name not in _types(base):
        _types.cache_clear()  # its module may have been imported since
    found = _types(base).get(name)
    if found is None or found.local:
        raise Unreadable(f"no message {name!r} crosses")
    return found


@lru_cache
def _types(base: type[Any]) -> dict[str, type[Any]]:
    """Return the subclasses of a base by name."""
    return {found.__name__: found for found in _subclasses(base)}


def _subclasses(base: type[Any]) -> Iterator[type[Any]]:
    for found in base.__subclasses__():
        # not those that tests make within a function
        if getattr(sys.modules.get(found.__module__), found.__qualname__, None) is found:
            yield found
        yield from _subclasses(found)


@cache
def _by_codes() -> dict[tuple[int, int], type[ServiceError]]:
    """Return the errors of `actors/errors.py` by their codes; other versions may have classes of their own."""
    errors = [found for found in _subclasses(ServiceError) if found.__module__ == ServiceError.__module__]
    return {(error.internal_code, error.http_code): error for error in reversed(errors)}
