"""Parsing of heads: one result, or a refusal with its reason. The table of bad ones is a service test."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routes.http.fastpath import plain_request
from routes.http.head import BadHead, Head, read_head, target_of

GOOD = (
    b"POST /demo/v1/Svc/tps HTTP/1.1\r\n"
    b"Host: gateway\r\n"
    b"Authorization: Bearer pls_token\r\n"
    b"Content-Type: application/json\r\n"
    b"Content-Length: 22"
)


def test_names_are_in_lower_case_and_values_without_white_space_around_them():
    head = read_head(b"GET /a?b=c HTTP/1.1\r\nHOST:gateway\r\nX-A: \t a \t b\t \r\nx-a:\r\nX-Empty: \t")
    assert head.line == "GET /a?b=c HTTP/1.1"
    assert head.fields == [("host", "gateway"), ("x-a", "a \t b"), ("x-a", ""), ("x-empty", "")]
    assert head.headers == {"host": "gateway", "x-a": "", "x-empty": ""}


def test_a_byte_beyond_ascii_stays_what_it_was():
    assert (
        read_head(b"GET / HTTP/1.1\r\nHost: a\r\nX: \xe2\x82\xac\xf6\xa0")
        .wire()
        .endswith(b"\r\nx:\xe2\x82\xac\xf6\xa0")
    )


@pytest.mark.parametrize(
    ("target", "path", "host"),
    [
        (b"http://other", b"/", "other"),
        (b"http://other?a=b", b"/?a=b", "other"),
        (b"HTTPS://Other:8443/a/b?c//d", b"/a/b?c//d", "Other:8443"),
        (b"http://[2001:db8::1]:80/", b"/", "[2001:db8::1]:80"),
        (b"//other/a", b"//other/a", "gateway"),
        (b"/http://other/", b"/http://other/", "gateway"),
    ],
)
def test_an_absolute_target_becomes_a_path_and_its_host_the_host(target: bytes, path: bytes, host: str):
    head = read_head(b"GET " + target + b" HTTP/1.1\r\nX: a\r\nHost: gateway\r\nY: b")
    assert head.line == f"GET {path.decode()} HTTP/1.1"
    assert head.headers["host"] == host
    assert [value for name, value in head.fields if name == "host"] == [host]
    assert [field for field in head.fields if field[0] != "host"] == [("x", "a"), ("y", "b")]


def test_options_may_be_asked_of_the_whole_server():
    assert read_head(b"OPTIONS * HTTP/1.1\r\nHost: gateway").line == "OPTIONS * HTTP/1.1"


@pytest.mark.parametrize(
    ("head", "named"),
    [
        (b"GET / HTTP/2.0\r\nHost: a", "request line"),
        (b"GET / HTTP/1.1", "Host is missing"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nhost: a", "host was sent more than once"),
        (b"GET / HTTP/1.1\r\nHost: a b", "Host is not a host name"),
        (b"GET / HTTP/1.1\r\nHost: [1]", "Host is not a host name"),
        (b"GET http://[:::]/ HTTP/1.1\r\nHost: a", "begins with /"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5", "Content-Length is not a decimal number"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip", "Transfer-Encoding"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c", "begins with white space"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX", "no colon"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX : b", "directly before its colon"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX-Long-Name: \x1b", "X-Long-Name holds a control character"),
        (b"GET a HTTP/1.1\r\nHost: a", "begins with /"),
        (b"GET /#a HTTP/1.1\r\nHost: a", "fragment"),
    ],
)
def test_a_refusal_names_what_is_wrong(head: bytes, named: str):
    with pytest.raises(BadHead, match=named) as refused:
        read_head(head)
    assert (refused.value.internal_code, refused.value.http_code) == (1000, 400)


def test_a_note_repeats_little_and_nothing_odd_of_what_was_sent():
    with pytest.raises(BadHead) as refused:
        read_head(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"N" * 8_000 + b": \x1b[31m")
    assert len(refused.value.note) < 200
    assert refused.value.note.isprintable()


@pytest.mark.parametrize(
    ("head", "target"),
    [
        (b"POST /demo/x HTTP/1.1\r\nbroken", "/demo/x"),
        (b"POST /demo/x HTTP/1.1", "/demo/x"),
        (b"POST http://a/demo HTTP/1.1\r\n", None),
        (b"POST /demo", None),
        (b"", None),
    ],
)
def test_a_refused_head_may_still_have_a_target(head: bytes, target: str | None):
    assert target_of(head) == target


PIECES = st.sampled_from(
    (
        *(
            b"\r",
            b"\n",
            b"\r\n",
            b"\0",
            b" ",
            b"\t",
            b":",
            b",",
            b"-",
            b"+",
            b"_",
            b"0",
            b"1",
            b"\x0b",
            b"\x1b",
            b"\x7f",
        ),
        *(b"\x85", b"\xa0", b"\xb2", b"\xd9\xa2", b"#", b"*", b"/", b"http://other", b"HTTP/1.0", b"HTTP/1.1"),
        *(b"Host: other\r\n", b"\r\nHost: other", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"),
        b"Expect: 100-continue\r\n",
    )
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Replace up to three parts of a good head by text that confuses parsers."""
    head = GOOD
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(head)))
        head = head[:place] + draw(PIECES) + head[place + draw(st.integers(0, 2)) :]
    return head


def accepted(head: bytes) -> Head | None:
    try:
        return read_head(head)
    except BadHead:
        return None


@given(mutated())
@example(GOOD)
def test_a_head_is_read_the_same_once_it_is_written_in_canonical_form(head: bytes):
    read = accepted(head)
    if read is None:
        return
    assert read_head(read.wire()) == read
    assert len(read.wire()) <= len(head) + 1  # the path of an absolute target that has none
    line, *lines = read.wire().split(b"\r\n")
    assert line.decode() == read.line
    assert len(lines) == len(read.fields)
    assert not any(byte < 32 and byte != 9 for line in lines for byte in line)


@given(mutated())
@example(GOOD)
@example(GOOD + b"\r\n")
def test_the_fast_path_takes_no_head_that_would_be_refused_and_reads_it_no_other_way(head: bytes):
    head, _, _ = (head + b"\r\n\r\n").partition(b"\r\n\r\n")
    for length in range(30):
        taken = plain_request(head + b"\r\n\r\n" + b"x" * length)
        if taken is not None:
            read = read_head(head)
            assert int(read.headers.pop("content-length")) == length
            assert taken == (read.line, read.headers, b"x" * length)
