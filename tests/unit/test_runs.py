"""Runs and frames between nodes, and the moves of commands that nothing may hold up."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.sessions.messages import Caller
from routes.forwarding.run import (
    Admission,
    Admitted,
    Delta,
    Frame,
    Head,
    Malformed,
    Moved,
    Opening,
    Part,
    Refused,
    Run,
    answer_frames,
    decode_frame,
    decode_run,
    encode,
)

CHECKOUT = Path(__file__).resolve().parents[2]

ADMITTED = Admitted(Caller("ses_1", "usr_1", "lovelace", "agt_1"), "free", 100, 7, 1_700_000_000_000, left_zone=True)
RUN = Run(
    key="usr_1",
    door="bus",
    name="AP_Chat",
    request_id="request-1",
    address="192.0.2.1",
    headers={"authorization": "Bearer x", "accept": "text/event-stream"},
    body=b'{"content": "Hi"}',
    events=True,
)
FRAMES: list[Frame] = [
    Head(200, {"X-Request-Id": "r"}, b"{}"),
    Part(b"more"),
    Opening({"RateLimit": "r=1"}),
    Delta("Hel"),
    Moved("agt_2", ADMITTED),
    Admission(ADMITTED),
    Refused(b"error"),
]


def test_runs_and_frames_arrive_as_they_were_sent():
    moved = RUN.moved("agt_2", ADMITTED)
    for run in (RUN, moved):
        assert decode_run(encode(run)) == run
    for frame in FRAMES:
        assert decode_frame(encode(frame)) == frame
    assert (moved.key, moved.moves, moved.admitted) == ("agt_2", 1, ADMITTED)
    assert moved.headers == {"accept": "text/event-stream"}, "an admitted run takes no credential along"


def test_runs_and_frames_of_the_next_version_are_read_without_their_new_members():
    moved = RUN.moved("agt_2", ADMITTED)
    newer = msgspec.msgpack.decode(encode(moved)) | {"priority": "high"}
    newer["admitted"] = [newer["admitted"][0] | {"new": 1}, *newer["admitted"][1:], "new"]
    assert decode_run(msgspec.msgpack.encode(newer)) == moved
    for frame in FRAMES:
        assert decode_frame(msgspec.msgpack.encode([*msgspec.msgpack.decode(encode(frame)), "new"])) == frame


def test_a_run_of_an_older_version_has_the_defaults_of_new_members():
    needed = {"key": "usr_1", "door": "bus", "name": "AP_Read", "request_id": "r", "address": "::1", "headers": {}}
    assert decode_run(msgspec.msgpack.encode(needed)).moves == 0
    assert decode_frame(msgspec.msgpack.encode(["head", 200, {}, b"{}"])) == Head(200, {}, b"{}", 0)


@given(st.binary(max_size=64), st.sampled_from([encode(RUN), *map(encode, FRAMES)]), st.integers(0, 400))
def test_bytes_that_are_no_run_or_frame_are_refused(noise: bytes, whole: bytes, place: int):
    at = place % len(whole)
    for data in (noise, whole[:at], whole[:at] + noise + whole[at + len(noise) :]):
        for decode in (decode_run, decode_frame):
            with suppress(*Malformed):
                decode(data)


@pytest.mark.parametrize("pieces", [[b""], [b"{}"], [b"a", b"b", b"c"], [b"x" * 2_000_000], [b"x" * 524_289, b"y"]])
def test_an_answer_in_parts_is_whole_again(pieces: list[bytes]):
    head, *parts = [decode_frame(frame) for frame in answer_frames(200, {}, pieces[0], pieces[1:])]
    assert isinstance(head, Head)
    assert head.parts == len(parts)
    bodies = [head.body, *(part.body for part in parts if isinstance(part, Part))]
    assert b"".join(bodies) == b"".join(pieces)
    assert max(map(len, bodies)) <= 524_288


def handlers_of_everything(tree: ast.AST) -> Iterator[int]:
    """Return the lines of handlers that catch every exception, `Elsewhere` too, and don't raise it on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            everything = any(each is None or ast.unparse(each) in ("BaseException", "Elsewhere") for each in caught)
            last = node.body[-1]
            if everything and not (isinstance(last, ast.Raise) and last.exc is None):
                yield node.lineno
        elif isinstance(node, ast.withitem) and ast.unparse(node).startswith("suppress(BaseException"):
            yield node.context_expr.lineno


def test_nothing_between_a_command_and_its_front_door_catches_a_move():
    files = [*CHECKOUT.glob("actors/**/*.py"), *CHECKOUT.glob("routes/**/*.py")]
    found = {
        f"{file.relative_to(CHECKOUT)}"
        for file in files
        for _ in handlers_of_everything(ast.parse(file.read_bytes(), filename=str(file)))
    }
    doors = {"routes/bus/passing_on.py", "routes/gateway/passing_on.py", "routes/forwarding/serving.py"}
    doors |= {"routes/bus/bus.py", "routes/http/exchange.py"}  # whose admission, before the command, may move on
    assert found == doors


def test_a_handler_of_everything_is_found():
    for caught in ("except:", "except BaseException:", "except (ValueError, BaseException):", "except Elsewhere:"):
        source = f"try:\n    f()\n{caught}\n    pass"
        assert list(handlers_of_everything(ast.parse(source))) == [3]
        assert list(handlers_of_everything(ast.parse(source.replace("pass", "raise")))) == []
    assert list(handlers_of_everything(ast.parse("with suppress(BaseException):\n    f()"))) == [1]
