"""Parsing of forms, or a refusal with its reason, in time linear in the length."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors import MalformedBody
from routes.http.multipart import FormPart, read_form
from tests.support.pace import pace, slower

TYPE = "multipart/form-data; boundary=x"
FILE = b'Content-Disposition: form-data; name="file"; filename="a.zip"'


def form(*parts: bytes, boundary: bytes = b"x") -> bytes:
    return b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + boundary + b"--\r\n"


@given(st.binary(max_size=300).filter(lambda content: b"\r\n--x" not in b"\r\n" + content))
def test_a_file_is_taken_out_as_it_was_put_in(content: bytes):
    assert read_form(form(FILE + b"\r\n\r\n" + content), TYPE) == [FormPart("file", True, content)]


ODD = {
    "a preamble and an epilogue": (b"preamble\r\n" + form(FILE + b"\r\n\r\nzip") + b"epilogue --x", TYPE),
    "no line end at the end": (form(FILE + b"\r\n\r\nzip")[:-2], TYPE),
    "white space behind a boundary": (form(FILE + b"\r\n\r\nzip").replace(b"--x\r\n", b"--x \t\r\n"), TYPE),
    "other parts before and after": (
        form(
            b'Content-Disposition: form-data; name="note"\r\n\r\nhello',
            FILE + b"\r\nContent-Type: application/zip\r\n\r\nzip",
            b'Content-Disposition: form-data; name="more"; filename="b"\r\n\r\nother',
        ),
        TYPE,
    ),
    "a field of the same name that is no file": (
        form(b'Content-Disposition: form-data; name="file"\r\n\r\ntext', FILE + b"\r\n\r\nzip"),
        TYPE,
    ),
    "a name without quotes": (form(b"content-disposition:form-data;name=file;filename=a\r\n\r\nzip"), TYPE),
    "a file name in another encoding": (
        form(b"Content-Disposition: form-data; name=file; filename*=UTF-8''a\r\n\r\nzip"),
        TYPE,
    ),
    "a file name with quotes in it": (
        form(b'Content-Disposition: form-data; filename="a\\";name=\\"other"; name="file"\r\n\r\nzip'),
        TYPE,
    ),
    "a file name that is not UTF-8": (
        form(b'Content-Disposition: form-data; name="file"; filename="\xff"\r\n\r\nzip'),
        TYPE,
    ),
    "a boundary in quotes": (
        form(FILE + b"\r\n\r\nzip", boundary=b"a b:c"),
        'Multipart/Form-Data; charset=utf-8; BOUNDARY="a b:c"',
    ),
    "a boundary of 70 characters": (
        form(FILE + b"\r\n\r\nzip", boundary=b"b" * 70),
        f"multipart/form-data; boundary={'b' * 70}",
    ),
    "a boundary of a hyphen": (form(FILE + b"\r\n\r\nzip", boundary=b"-"), "multipart/form-data; boundary=-"),
}


@pytest.mark.parametrize(("body", "content_type"), ODD.values(), ids=ODD)
def test_a_form_that_is_odd_but_sound_is_read(body: bytes, content_type: str):
    assert FormPart("file", True, b"zip") in read_form(body, content_type)


BAD = {
    "an empty body": b"",
    "no boundary in the body": b"hello",
    "no end": form(FILE + b"\r\n\r\nzip")[: -len(b"--x--\r\n")],
    "a boundary that goes on": form(FILE + b"\r\n\r\nzip").replace(b"--x--", b"--xy--"),
    "a boundary within the content": form(FILE + b"\r\n\r\na\r\n--xb"),
    "no head": form(b"\r\nzip"),
    "a head without an end": form(FILE),
    "a head of 5,000 bytes": form(FILE + b"\r\nX: " + b"a" * 5_000 + b"\r\n\r\nzip"),
    "a head without a colon": form(b"no colon\r\n\r\nzip"),
    "a part without a name": form(b"Content-Type: text/plain\r\n\r\ntext"),
    "thirty-three parts": form(*[FILE + b"\r\n\r\nzip"] * 33),
    "seventeen parameters": form(FILE + b";a=1" * 15 + b"\r\n\r\nzip"),
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_sound_form_is_refused(body: bytes):
    with pytest.raises(MalformedBody):
        read_form(body, TYPE)


@pytest.mark.parametrize(
    "boundary",
    ["", '""', "b" * 71, '"ends with a space "', '"<angle>"', '"a@b"', "\u00fc", '"never closed'],
)
def test_a_boundary_that_rfc_2046_does_not_allow_is_refused(boundary: str):
    with pytest.raises(MalformedBody, match="boundary"):
        read_form(form(FILE + b"\r\n\r\nzip"), f"multipart/form-data; boundary={boundary}")


def test_parts_come_in_order_and_only_a_file_name_makes_a_file():
    note = b'Content-Disposition: form-data; name="note"\r\n\r\nfilename="a"'
    assert read_form(form(note, FILE + b"\r\n\r\n", note), TYPE) == [
        FormPart("note", False, b'filename="a"'),
        FormPart("file", True, b""),
        FormPart("note", False, b'filename="a"'),
    ]
    assert read_form(form(), TYPE) == []


MIB = 2**20
COSTLY = {
    "hyphens": (b"-", b"-" * MIB),
    "lines of hyphens": (b"-", b"\r\n---" * (MIB // 5)),
    "ends of lines": (b"-", b"\r\n" * (MIB // 2)),
    "parts without end": (b"-", form(*[FILE + b"\r\n\r\n"] * (MIB // 80), boundary=b"-")),
    "almost boundaries": (b"a" * 70, (b"\r\n--" + b"a" * 69) * (MIB // 73)),
    "one long almost boundary": (b"a" * 69 + b"b", b"\r\n--" + b"a" * MIB),
    "a part of almost boundaries": (
        b"a" * 70,
        form(FILE + b"\r\n\r\n" + (b"\r\n--" + b"a" * 69) * (MIB // 73), boundary=b"a" * 70),
    ),
    "a head of parameters": (b"x", form((b"Content-Disposition: form-data" + b';a="' * 1_000)[:4_000] + b"\r\n\r\n")),
    "heads of parameters": (
        b"x",
        form(*[b"Content-Disposition: form-data" + b';a="' * 1_000 + b";name=x\r\n\r\n"] * 32),
    ),
}


@pytest.mark.parametrize(("boundary", "body"), COSTLY.values(), ids=COSTLY)
def test_no_form_of_a_mebibyte_holds_up_the_loop(boundary: bytes, body: bytes):
    """The loop's bound for any step is 20 ms of its thread's processor time, on a quiet machine."""
    content_type = f"multipart/form-data; boundary={boundary.decode()}"
    for _ in range(3):  # more than once only if it was too long, because other load lengthens a measurement
        before, begun = pace(), time.thread_time()
        with suppress(MalformedBody):
            read_form(body, content_type)
        ended = time.thread_time()
        spent = (ended - begun) / slower(before, pace())
        if spent < 0.02:
            return
    pytest.fail(f"it took {spent:.3f} s")
