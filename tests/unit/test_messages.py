"""Messages that may cross to another node are plain data: each goes through its binary form and back."""

import dataclasses
import enum
import importlib
import pkgutil
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
import pytest

import actors
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, OwnTell, Tell
from actors.runtime.notices import Notice

for found in pkgutil.walk_packages(actors.__path__, "actors."):
    importlib.import_module(found.name)

PLAIN = {str: "text", int: 7, float: 0.5, bool: True, bytes: b"\0bytes", Any: "any", type(None): None}


def subclasses(base: type[Any]) -> Iterator[type[Any]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def of_product(base: type[Any]) -> list[type[Any]]:
    """Find the message types of the product; a dataclass with slots replaces the class that it was made of."""
    found = {
        (cls.__module__, cls.__qualname__): cls for cls in subclasses(base) if cls.__module__.startswith("actors.")
    }
    return [found[name] for name in sorted(found)]


def reply_of(ask: type[Any]) -> Any:
    (reply,) = (get_args(base)[0] for base in getattr(ask, "__orig_bases__", ()) if get_origin(base) is Ask)
    return reply


def example(of: Any) -> Any:
    """Make a value of a type, with something in every member that may have something."""
    if of in PLAIN:
        return PLAIN[of]
    origin, args = get_origin(of), get_args(of)
    if origin is Literal:
        return args[-1]
    if origin in (Union, types.UnionType):
        # a future never crosses: what holds one is sent without
        return next((example(arg) for arg in args if arg is not type(None) and not is_live(arg)), None)
    if origin is tuple:
        return (example(args[0]),) * 2 if args[-1] is ... else tuple(map(example, args))
    if origin in (list, set, frozenset):
        return origin([example(args[0])])
    if origin in (dict, Mapping):
        return {example(args[0]): example(args[1])}
    if isinstance(of, type) and issubclass(of, enum.Enum):
        return list(of)[-1]
    if dataclasses.is_dataclass(of):
        hints = get_type_hints(of)
        return cast(Any, of)(**{field.name: example(hints[field.name]) for field in dataclasses.fields(of)})
    if isinstance(of, type) and issubclass(of, tuple):
        return of(*(example(hint) for hint in get_type_hints(of).values()))
    raise TypeError(f"{of} has no binary form; say in `local` why what holds it never leaves its process")


def is_live(of: Any) -> bool:
    return (get_origin(of) or of) is AsyncFuture


CROSSING = [cls for base in (Ask, Tell) for cls in of_product(base) if not cls.local]
REPLIES = {str(reply): reply for reply in (reply_of(cls) for cls in of_product(Ask) if not cls.local)}


def through_the_wire(value: Any, of: Any) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=of)


@pytest.mark.parametrize("message", CROSSING, ids=lambda cls: cls.__qualname__)
def test_a_message_comes_out_of_its_binary_form_as_it_went_in(message: type[Any]) -> None:
    sent = example(message)
    assert through_the_wire(sent, message) == sent


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_reply_comes_out_of_its_binary_form_as_it_went_in(reply: Any) -> None:
    sent = example(reply)
    assert through_the_wire(sent, reply) == sent


def test_messages_that_stay_in_their_process_say_why() -> None:
    staying = [cls for base in (Ask, Tell) for cls in of_product(base) if cls.local]
    assert {cls.__name__ for cls in staying if not issubclass(cls, OwnTell)} == {
        "CountRequest",
        "SayInZone",
        "SendChat",
    }


@pytest.mark.parametrize("notice", get_args(Notice), ids=lambda cls: cls.__name__)
def test_notices_hold_plain_data(notice: type[Any]) -> None:
    for name, of in get_type_hints(notice).items():
        assert of is Tell or example(of) is not None, name


def test_a_message_with_something_live_is_found() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Live(Tell):
        answer: AsyncFuture[int]

    with pytest.raises(TypeError, match="has no binary form"):
        example(Live)
