"""No request blocks the loop while it is parsed, with any heads, chunks and forms."""

from collections.abc import AsyncIterator

import pytest

from tests.support.gateway import BUS, Client
from tests.support.longest_step import Stepped, stepped
from tests.support.wire import connected, raw_post, read_answer

MIB = 2**20
PART = b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n'


@pytest.fixture(scope="module")
async def loop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stepped]:
    """A warmed-up gateway that measures its loop."""
    async with stepped(tmp_path_factory.mktemp("parsing")) as loop:
        async with loop.gateway.client() as client:
            warm = await client.register("warm-user")
            await warm.request("POST", "/api/skills/install", json={"content": "?"})
            await warm.command("AP_List")
        yield loop


@pytest.fixture
async def user(loop: Stepped, unique: str) -> AsyncIterator[Client]:
    async with loop.gateway.client() as client:
        yield await client.register(f"{unique}-user")


def lines(client: Client) -> list[str]:
    return [f"Authorization: Bearer {client.token}"]


FORMS = {
    "a boundary of a hyphen, and hyphens": (b"-", b"-" * (MIB - 100)),
    "a boundary of a hyphen, and lines of them": (b"-", b"\r\n---" * (MIB // 5 - 20)),
    "many parts": (b"-", (b"---\r\n" + PART + b"\r\n") * (MIB // 80)),
    "almost boundaries": (b"a" * 70, b"--" + b"a" * 70 + b"\r\n" + PART + (b"\r\n--" + b"a" * 69) * (MIB // 73 - 5)),
}


@pytest.mark.parametrize(("boundary", "body"), FORMS.values(), ids=FORMS)
async def test_a_form_holds_up_nobody(loop: Stepped, user: Client, boundary: bytes, body: bytes) -> None:
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary.decode()}"}
    assert len(body) <= MIB

    async def uploaded() -> None:
        assert (await user.request("POST", "/api/skills/install", data=body, headers=headers)).http == 400

    await loop.is_never_held_up(uploaded)


BODY = b'{"service": "AP_List"}' + b" " * 100_000
CHUNKED = ("Host: gateway", "Transfer-Encoding: chunked")


def in_chunks(client: Client, *chunks: bytes) -> bytes:
    head = "\r\n".join([f"POST {BUS} HTTP/1.1", *CHUNKED, *lines(client)])
    return head.encode() + b"\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"


async def test_a_body_of_one_byte_chunks_holds_up_nobody(loop: Stepped, user: Client) -> None:
    request = in_chunks(user, *(b"1\r\n%c\r\n" % byte for byte in BODY))

    async def sent() -> None:
        async with connected(user.base) as (reader, writer):
            writer.write(request)
            (await read_answer(reader)).ok()

    await loop.is_never_held_up(sent)


HEADS = {
    "many short headers": [f"X{number}:" for number in range(1_000)],
    "one long header": ["X-Long: " + "a" * 7_500],
    "white space": ["X-Long:" + " \t" * 3_700 + "a"],
    "white space without a value": ["X-Long:" + " " * 7_500],
    "a long wrong name": ["a" * 7_500],
    "empty lines before": [],
}


@pytest.mark.parametrize("fields", HEADS.values(), ids=HEADS)
async def test_a_head_holds_up_nobody(loop: Stepped, user: Client, fields: list[str]) -> None:
    request = raw_post(BUS, b'{"service": "AP_List"}', *lines(user), *fields)
    before = b"" if fields else b"\r\n" * 100_000

    async def sent() -> None:
        async with connected(user.base) as (reader, writer):
            writer.write(before + request)
            assert (await read_answer(reader)).http in (200, 400)

    await loop.is_never_held_up(sent)


async def test_pipelined_heads_hold_up_nobody(loop: Stepped, user: Client) -> None:
    request = raw_post(BUS, b'{"service": "AP_Nonsense"}', "X-Spare: a", "x-spare: b")

    async def sent() -> None:
        async with connected(user.base) as (reader, writer):
            writer.write(request * 1_000)
            for _ in range(1_000):
                assert (await read_answer(reader)).http == 400

    await loop.is_never_held_up(sent)
