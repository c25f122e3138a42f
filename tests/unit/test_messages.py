"""Messages that may cross to another node are plain data: each goes through its binary form and back."""

import dataclasses
import enum
import importlib
import json
import pkgutil
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
import pytest

import actors
from actors import errors
from actors.agents.messages import ReadAgent, UserGone
from actors.banks.messages import MemoryMoved
from actors.domains.messages import NotInDomain, StreamsEnded
from actors.domains.streams import Whom
from actors.engines.message import Source
from actors.engines.options import ClientToolCall, Usage
from actors.engines.turn import Reply
from actors.errors import InternalError, ServiceError, StateConflict
from actors.quotas.messages import COUNT, QuotaStatus, ReadQuota
from actors.runtime.cluster import wire
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, OwnTell, Tell
from actors.runtime.notices import Announced, Notice, Reload, ReloadConcerning, Told
from actors.webhooks.messages import SendTest

for found in pkgutil.walk_packages(actors.__path__, "actors."):
    importlib.import_module(found.name)

PLAIN = {str: "text", int: 7, float: 0.5, bool: True, bytes: b"\0bytes", Any: "any", type(None): None}


def subclasses(base: type[Any]) -> Iterator[type[Any]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def of_product(base: type[Any]) -> list[type[Any]]:
    """Find the message types of the product, in the order of their names."""
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
    if isinstance(of, type) and issubclass(of, tuple | msgspec.Struct):
        return cast(Any, of)(*(example(hint) for hint in hints_of(of)))
    raise TypeError(f"{of} has no binary form; say in `local` why what holds it never leaves its process")


def hints_of(of: type[Any]) -> list[Any]:
    """Return the types of the members of a named tuple or struct."""
    hints = get_type_hints(of)
    names: tuple[str, ...] = of.__struct_fields__ if issubclass(of, msgspec.Struct) else cast(Any, of)._fields
    return [hints[name] for name in names]


def is_live(of: Any) -> bool:
    return (get_origin(of) or of) is AsyncFuture


CROSSING = [cls for base in (Ask, Tell) for cls in of_product(base) if not cls.local]
REPLYING = {str(reply_of(cls)): cls for cls in of_product(Ask) if not cls.local}


@pytest.mark.parametrize("message", CROSSING, ids=lambda cls: cls.__qualname__)
def test_a_message_comes_out_of_its_binary_form_as_it_went_in(message: type[Any]) -> None:
    sent = example(message)
    if isinstance(sent, Ask):
        received: Any = wire.decode_ask(wire.encode_ask("kind", "key", sent))
        assert received == ("kind", "key", sent)
        assert type(received[2]) is message
    else:
        told = Told("kind", "key", sent)
        received = wire.decode_notice(*wire.encode_notice(told))
        assert received == told
        assert type(received.message) is message


def test_no_struct_has_a_field_of_a_dataclass_as_its_default() -> None:
    structs = [cls for cls in subclasses(msgspec.Struct) if cls.__module__.partition(".")[0] in {"actors", "routes"}]
    assert len(structs) > 100
    assert [
        cls for cls in structs for default in cls.__struct_defaults__ if isinstance(default, dataclasses.Field)
    ] == []


def test_what_a_user_sends_in_a_test_event_is_not_shown_with_the_message() -> None:
    assert repr(SendTest("test", {"secret": 1})) == "SendTest('test')"


def test_messages_are_told_apart_by_their_names() -> None:
    assert len({cls.__name__ for cls in CROSSING}) == len(CROSSING)


@pytest.mark.parametrize("ask", REPLYING.values(), ids=REPLYING)
def test_a_reply_comes_out_of_its_binary_form_as_it_went_in(ask: type[Any]) -> None:
    sent = example(reply_of(ask))
    received = wire.decode_reply(ask, wire.encode_reply(ask, sent))
    assert received == sent
    assert type(received) is type(sent)


def test_messages_that_stay_in_their_process_say_why() -> None:
    staying = [cls for base in (Ask, Tell) for cls in of_product(base) if cls.local]
    assert {cls.__name__ for cls in staying if not issubclass(cls, OwnTell)} == {
        "CountRequest",
        "SayInZone",
        "SendChat",
    }
    with pytest.raises(TypeError, match="counted where their user is"):
        wire.encode_ask("quota", "usr_00", COUNT)
    with pytest.raises(wire.Unreadable, match="CountRequest"):
        wire.decode_ask(msgspec.msgpack.encode(("quota", "usr_00", "CountRequest", {})))


NOTICES = (
    Told("agent", "agt_00", UserGone("usr_00")),
    Reload("agent", ("agt_00", "agt_01")),
    ReloadConcerning("usr_00"),
    ReloadConcerning("agt_00", ("bank", "domain"), "bnk_00", is_agent=True, is_name=True),
    Announced(StreamsEnded("banned", Whom("dom_00", user_id="usr_00"), 7)),
)


@pytest.mark.parametrize("notice", NOTICES, ids=lambda notice: type(notice).__name__)
def test_a_notice_comes_back_from_its_row(notice: Notice) -> None:
    kind, target, message = wire.encode_notice(notice)
    stored = json.dumps(json.loads(target), sort_keys=True)  # as a column of jsonb gives it back
    received = wire.decode_notice(kind, stored, message)
    assert received == notice
    assert type(received) is type(notice)
    assert {type(notice) for notice in NOTICES} == set(get_args(Notice))


def test_an_unknown_notice_or_message_is_unreadable() -> None:
    for notice in (("whatever", "{}", b""), ("told", '{"kind": "agent", "key": "a", "message": "New"}', b"\x80")):
        with pytest.raises(wire.Unreadable):
            wire.decode_notice(*notice)
    with pytest.raises(wire.Unreadable):
        wire.decode_ask(b"\x93")
    with pytest.raises(wire.Unreadable):
        wire.decode_reply(ReadAgent, msgspec.msgpack.encode({"row": 1}))


def test_members_of_a_newer_version_are_ignored_and_those_of_an_older_one_have_defaults() -> None:
    for members in ({"viewer_id": "usr_00", "new": [1, {}]}, {"viewer_id": "usr_00"}):
        data = msgspec.msgpack.encode(("agent", "agt_00", "ReadAgent", members))
        assert wire.decode_ask(data) == ("agent", "agt_00", ReadAgent("usr_00", access_granted=False))


def is_array(of: type[Any]) -> bool:
    return issubclass(of, msgspec.Struct) and of.__struct_config__.array_like


def grown(of: Any, value: Any) -> Any:
    """Return a value of a type as the next version would send it: every record in it has one more member."""
    origin, args = get_origin(of), get_args(of)
    if origin in (Union, types.UnionType):
        return grown(next(arg for arg in args if arg is not type(None)), value) if value is not None else None
    if isinstance(of, type) and (hasattr(of, "_fields") or is_array(of)):
        return [*(grown(hint, item) for hint, item in zip(hints_of(of), value, strict=True)), "new"]
    if isinstance(value, list):
        item_types = args if origin is tuple and args[-1] is not ... else (args[0],) * len(value)
        return [grown(item_of, item) for item_of, item in zip(item_types, value, strict=True)]
    if dataclasses.is_dataclass(of) or (isinstance(of, type) and issubclass(of, msgspec.Struct)):
        hints = get_type_hints(of)
        return {name: grown(hints[name], member) for name, member in value.items()} | {"new": [1]}
    if origin in (dict, Mapping):
        return {name: grown(args[1], member) for name, member in value.items()}
    return value


def as_the_next_version_sends(of: Any, value: Any) -> Any:
    """Return the plain form of a value, grown."""
    return grown(of, msgspec.msgpack.decode(msgspec.msgpack.encode(value)))


@pytest.mark.parametrize("message", CROSSING, ids=lambda cls: cls.__qualname__)
def test_a_message_of_the_next_version_is_read_without_its_new_members(message: type[Any]) -> None:
    sent = example(message)
    newer = as_the_next_version_sends(message, sent)
    if isinstance(sent, Ask):
        data = msgspec.msgpack.encode(("kind", "key", message.__name__, newer))
        assert wire.decode_ask(data) == ("kind", "key", sent)
    else:
        kind, target, _ = wire.encode_notice(Told("kind", "key", sent))
        assert wire.decode_notice(kind, target, msgspec.msgpack.encode(newer)) == Told("kind", "key", sent)


@pytest.mark.parametrize("ask", REPLYING.values(), ids=REPLYING)
def test_a_reply_of_the_next_version_is_read_without_its_new_members(ask: type[Any]) -> None:
    sent = example(reply_of(ask))
    newer = as_the_next_version_sends(reply_of(ask), sent)
    assert wire.decode_reply(ask, msgspec.msgpack.encode(newer)) == sent


def structs_in(of: Any, seen: set[Any]) -> Iterator[type[msgspec.Struct]]:
    for arg in get_args(of):
        yield from structs_in(arg, seen)
    if isinstance(of, type) and of not in seen:
        seen.add(of)
        if issubclass(of, msgspec.Struct):
            yield of
        if dataclasses.is_dataclass(of) or issubclass(of, tuple | msgspec.Struct):
            for hint in get_type_hints(of).values():
                yield from structs_in(hint, seen)


def test_structs_travel_as_arrays_for_they_were_named_tuples_in_older_versions() -> None:
    seen: set[Any] = set()
    found = {struct for ask in REPLYING.values() for struct in structs_in(reply_of(ask), seen)}
    assert {Reply, Usage, Source, ClientToolCall} <= found
    assert all(struct.__struct_config__.array_like for struct in found)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Usage(1, 2))) == [1, 2]


def test_a_member_that_an_older_version_lacks_gets_its_default() -> None:
    class Grown(ReadAgent, frozen=True):
        mood: str = "calm"

    older = msgspec.msgpack.encode(ReadAgent("usr_00"))
    assert msgspec.msgpack.decode(older, type=Grown) == Grown("usr_00")
    status = QuotaStatus("free", 10, 1, 0)
    assert wire.decode_reply(ReadQuota, msgspec.msgpack.encode(status[:-1])) == status


ERRORS = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, ServiceError)]


@pytest.mark.parametrize("error", [*ERRORS[1:], MemoryMoved, NotInDomain], ids=lambda cls: cls.__name__)
def test_an_error_is_raised_as_it_was_on_the_other_node(error: type[ServiceError]) -> None:
    for sent in (error("A sentence."), error("Another.", retry_after=7)):
        with pytest.raises(error) as raised:
            wire.raise_error(wire.encode_error(sent))
        assert type(raised.value) is error
        assert (raised.value.note, raised.value.retry_after) == (sent.note, sent.retry_after)


def test_an_error_of_another_version_is_the_one_with_its_codes() -> None:
    class NewerConflict(StateConflict):
        """Known to the other node alone."""

    newer = wire.encode_error(NewerConflict("Odd."))
    for known, codes in ((StateConflict, (3002, 409)), (InternalError, (9999, 599))):
        data = msgspec.msgpack.encode(("Newest", *codes, "Odd.", None))
        with pytest.raises(known) as raised:
            wire.raise_error(data)
        assert type(raised.value) is known
    with pytest.raises(StateConflict, match=r"Odd\."):
        wire.raise_error(newer)


def test_a_future_in_a_reply_is_waited_for_and_left_out() -> None:
    stored: AsyncFuture[Any] = AsyncFuture()
    status = QuotaStatus("free", 10, 1, 0, stored=stored)
    assert wire.unresolved(status) == [stored]
    with pytest.raises(TypeError):
        wire.encode_reply(ReadQuota, status)
    stored.set(None)
    assert wire.unresolved(status) == []
    assert wire.decode_reply(ReadQuota, wire.encode_reply(ReadQuota, status)) == status._replace(stored=None)
    failed: AsyncFuture[Any] = AsyncFuture()
    failed.fail(InternalError("not stored"))
    with pytest.raises(TypeError):
        wire.encode_reply(ReadQuota, status._replace(stored=failed))


def test_a_message_with_something_live_is_found() -> None:
    class Live(Tell, frozen=True):
        answer: AsyncFuture[int]

    with pytest.raises(TypeError, match="has no binary form"):
        example(Live)
