"""Documents: handed in, taken apart, loaded into banks, censored for good (docs/documents.md)."""

import asyncio
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from actors.ids import new_number
from actors.text import tokenizer
from persistence import banks, censoring, documents, memories, users
from persistence.banks import BankRow
from persistence.documents import DocumentRow
from persistence.memories import Choice, MemoryRow, Part
from persistence.store import Store, Unit, Write
from persistence.users import UserRow
from tests.support.disk import open_store, rows
from tests.support.gateway import Answer, Client, running
from tests.support.stored import erased, traces

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 1)
LONG = "\n\n".join(f"Chapter {number}. " + f"Sentence about topic{number}. " * 60 for number in range(1, 6))


async def hand_in(user: Client, name: str, content: str, media_type: str = "text/plain") -> dict[str, Any]:
    """Hand in a document and wait until it is processed; return its record."""
    body = {"name": name, "content": content, "media_type": media_type}
    answer = await user.request("POST", "/api/documents", json=body)
    assert (answer.http, answer.body["status"]) == (202, "queued"), answer.body
    return await done(user, answer.body["id"])


async def done(user: Client, document_id: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            answer = await user.request("GET", f"/api/documents/{document_id}")
            assert answer.http == 200, answer.body
            if answer.body["status"] in ("ready", "failed"):
                return answer.body
            await asyncio.sleep(0.05)


@pytest.fixture
async def bank(user: Client, unique: str) -> str:
    """A bank of the user with a selected agent."""
    await user.agent(f"{unique}-agent")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    return f"{unique}-bank"


async def load(user: Client, bank: str, name: str, **more: Any) -> Answer:
    return await user.command("MB_Load", target={"bank": bank}, vx={"name": name}, **more)


async def names(user: Client, bank: str) -> list[str]:
    answer = await user.command("MB_Read", target={"bank": bank}, page={"limit": 200})
    return [memory["name"] for memory in answer.ok().content]


async def test_a_document_is_queued_then_ready(user: Client):
    record = await hand_in(user, "Plan", "# Tonight\n\nJupiter rises at nine.", "text/markdown")
    assert re.fullmatch("doc_[0-9a-f]{32}", record["id"])
    assert (record["status"], record["parts"], record["error"], record["size"]) == ("ready", 1, None, 33)
    assert (record["name"], record["media_type"], record["metadata"]) == ("Plan", "text/markdown", None)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "x" * 201, "content": "x"}, "name"),
        ({"name": "x\x00", "content": "x"}, "name"),
        ({"name": 7, "content": "x"}, "name"),
        ({"name": "x", "content": "a\x00b"}, "content"),
        ({"name": "x", "content": "x" * 500_001}, "content"),
        ({"name": "x", "content": "x", "media_type": "application/pdf"}, "media_type"),
        ({"name": "x", "content": "x", "media_type": "text/html; charset=utf-8"}, "media_type"),
        ({"name": "x", "content": "{", "media_type": "application/json"}, "content"),
        ({"name": "x", "content": "x", "metadata": ["x"]}, "metadata"),
        ({"name": "x", "content": "x", "metadata": {"x": "x" * 5_000}}, "metadata"),
    ],
)
async def test_a_document_is_checked_first(user: Client, body: dict[str, Any], path: str):
    answer = (await user.request("POST", "/api/documents", json=body)).refused(1003, 400)
    assert path in answer.note


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ({"content": "x"}, "name"),
        ({"name": "", "content": "x"}, "name"),
        ({"name": "  ", "content": "x"}, "name"),
        ({"name": None, "content": "x"}, "name"),
        ({"name": "x"}, "content"),
        ({"name": "x", "content": ""}, "content"),
        ({"name": "x", "content": "\n "}, "content"),
    ],
)
async def test_a_document_has_a_name_and_a_text(user: Client, body: dict[str, Any], missing: str):
    answer = (await user.request("POST", "/api/documents", json=body)).refused(1002, 400)
    assert answer.note.startswith(f"missing {missing} field")


@pytest.mark.parametrize("media_type", [None, "", "  "])
async def test_a_media_type_that_is_null_or_blank_is_missing(user: Client, media_type: str | None):
    body = {"name": "notes", "content": "The Sun is far away.", "media_type": media_type}
    added = await user.request("POST", "/api/documents", json=body)
    assert (added.http, added.body["media_type"]) == (202, "text/plain")


async def test_a_document_without_text_fails_and_says_why(user: Client, bank: str):
    record = await hand_in(user, "Empty", "<p><script>alert(1)</script></p>", "text/html")
    assert (record["status"], record["error"]) == ("failed", "there is no text in it")
    assert "no text" in (await load(user, bank, "Empty")).refused(3002, 409).note


async def test_documents_belong_to_their_user(user: Client, sanic_client: Client, unique: str, bank: str):
    other = await sanic_client.register(f"{unique}-other")
    record = await hand_in(other, "Secret", "Not yours.")
    (await user.request("GET", f"/api/documents/{record['id']}")).refused(3000, 404)
    (await load(user, bank, "Secret")).refused(3000, 404)


async def test_a_newer_document_takes_the_place_of_the_one_of_its_name(user: Client, bank: str):
    first = await hand_in(user, "Plan", "Mars tonight.")
    await hand_in(user, "Plan", "Venus tonight.")
    replaced = (await user.request("GET", f"/api/documents/{first['id']}")).refused(3000, 404)
    assert replaced.note.endswith("GET /api/documents; a newer document of the same name may have replaced it.")
    assert (await load(user, bank, "Plan")).ok().content[0]["text"] == "Venus tonight."


async def test_a_repeat_with_the_same_key_hands_in_nothing_again(user: Client):
    body, key = {"name": "Plan", "content": "Mars."}, {"Idempotency-Key": "plan-1"}
    first = await user.request("POST", "/api/documents", json=body, headers=key)
    await done(user, first.body["id"])
    again = await user.request("POST", "/api/documents", json=body, headers=key)
    assert (again.http, again.body, again.headers["Idempotency-Replayed"]) == (202, first.body, "true")
    assert (await user.request("GET", f"/api/documents/{first.body['id']}")).http == 200


# loading


async def test_a_short_document_becomes_one_memory(user: Client, bank: str):
    html = "<h1>Moon</h1><p>It is 384,400&nbsp;km away.<script>x</script></p>"
    await hand_in(user, "Moon", html, "text/html")
    (memory,) = (await load(user, bank, "Moon")).ok().content
    assert (memory["name"], memory["text"]) == ("Moon", "Moon\n\nIt is 384,400 km away.")


async def test_a_long_document_becomes_parts_that_are_recalled(user: Client, bank: str):
    record = await hand_in(user, "Book", LONG)
    answer = (await load(user, bank, "Book")).ok()
    assert [memory["name"] for memory in answer.content] == [f"Book/{n}" for n in range(1, record["parts"] + 1)]
    assert all(0 < len(memory["text"]) <= 2_000 for memory in answer.content)
    assert "".join("".join(memory["text"].split()) for memory in answer.content) == "".join(LONG.split())
    assert answer.profile[0]["memories"] == record["parts"]
    found = await user.command("MB_Recall", target={"bank": bank}, content="What about topic3?")
    assert "topic3" in found.ok().content[0]["text"]


async def test_the_document_s_name_means_all_of_its_parts(user: Client, bank: str):
    record = await hand_in(user, "Book", LONG)
    (await load(user, bank, "Book")).ok()
    (await load(user, bank, "Book/other", content="Not a part.")).ok()
    read = await user.command("MB_Read", target={"bank": bank}, vx={"name": "Book"})
    assert len(read.ok().content) == record["parts"]
    deleted = await user.command("MB_Delete", target={"bank": bank}, vx={"name": "Book"})
    assert deleted.ok().profile[0]["memories"] == 1
    assert await names(user, bank) == ["Book/other"]


async def test_the_names_of_parts_have_up_to_200_characters_too(user: Client, bank: str):
    text = "\n\n".join(f"Paragraph {number}. " + "More of it. " * 100 for number in range(3))
    for length in (198, 199):
        assert (await hand_in(user, "n" * length, text))["parts"] == 3
    (await load(user, bank, "n" * 198)).ok()
    answer = await load(user, bank, "n" * 199)
    assert answer.refused(1003, 400).note.endswith("under a name of up to 198.")
    assert await names(user, bank) == [f"{'n' * 198}/{number}" for number in (1, 2, 3)]


async def test_a_document_s_parts_are_read_page_by_page(user: Client, bank: str):
    record = await hand_in(user, "Book", LONG)
    (await load(user, bank, "Book")).ok()
    (await load(user, bank, "Other", content="Not a part.")).ok()
    named = {"target": {"bank": bank}, "vx": {"name": "Book"}}
    seen: list[str] = []
    page: dict[str, Any] = {"limit": 1}
    while True:
        answer = (await user.command("MB_Read", **named, page=page)).ok()
        assert len(answer.content) == 1
        seen.append(answer.content[0]["name"])
        if answer.next is None:
            break
        page = {"limit": 1, "cursor": answer.next}
    assert seen == [f"Book/{n}" for n in range(1, record["parts"] + 1)]
    assert "page.cursor" in (await user.command("MB_Read", **named, page={"cursor": "bad"})).refused(1003, 400).note


async def test_a_load_replaces_all_parts(user: Client, bank: str):
    await hand_in(user, "Book", LONG)
    before = (await load(user, bank, "Book")).ok().content
    await hand_in(user, "Book", LONG[:3_000])
    after = (await load(user, bank, "Book")).ok()
    assert await names(user, bank) == ["Book/1", "Book/2"]
    assert after.profile[0]["memories"] == 2
    assert after.content[0]["id"] == before[0]["id"]
    (await load(user, bank, "Book", content="One text.")).ok()
    assert await names(user, bank) == ["Book"]
    (await load(user, bank, "Book")).ok()
    assert await names(user, bank) == ["Book/1", "Book/2"]


async def test_a_part_takes_the_place_of_a_memory_of_its_name(user: Client, bank: str):
    (await load(user, bank, "Book/1", content="By hand.")).ok()
    record = await hand_in(user, "Book", LONG)
    assert (await load(user, bank, "Book")).ok().profile[0]["memories"] == record["parts"]
    (await load(user, bank, "Book/2", content="By hand, too.")).ok()
    read = (await user.command("MB_Read", target={"bank": bank}, vx={"name": "Book"})).ok().content
    assert len(read) == record["parts"]
    assert read[1]["text"] == "By hand, too."


async def test_concurrent_loads_leave_the_parts_of_one(user: Client, bank: str):
    await hand_in(user, "Book", LONG)
    answers = await asyncio.gather(
        *(load(user, bank, "Book") for _ in range(4)), *(load(user, bank, "Book", content="x") for _ in range(4))
    )
    assert all(answer.code in (0, 5003) for answer in answers)
    listed = (await user.command("MB_Read", target={"bank": bank}, page={"limit": 200})).ok()
    left = [memory["name"] for memory in listed.content]
    assert left == ["Book"] or sorted(left) == sorted(f"Book/{n}" for n in range(1, len(left) + 1))
    assert listed.profile[0]["memories"] == len(left)


# censoring


async def test_a_censored_document_can_t_come_back(user: Client, bank: str):
    record = await hand_in(user, "Book", LONG)
    (await load(user, bank, "Book")).ok()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "Book"})).ok()
    read = (await user.command("MB_Read", target={"bank": bank}, vx={"name": "Book"})).ok().content
    assert [(memory["text"], memory["censored"]) for memory in read] == [(None, True)] * record["parts"]
    (await load(user, bank, "Book")).refused(3002, 409)
    (await user.command("MB_Delete", target={"bank": bank}, vx={"name": "Book"})).ok()
    assert "censored" in (await load(user, bank, "Book")).refused(3002, 409).note
    await hand_in(user, "Book", "Something harmless.")
    assert (await load(user, bank, "Book")).ok().content[0]["text"] == "Something harmless."


async def test_a_censoring_leaves_the_same_document_of_another_user(
    user: Client, sanic_client: Client, unique: str, bank: str
):
    other = await sanic_client.register(f"{unique}-other")
    await other.agent(f"{unique}-others")
    (await other.command("MB_Create", vx={"name": f"{bank}-other"})).ok()
    for each, content in itertools.product((user, other), (LONG, "Something short.")):
        await hand_in(each, f"Book of {len(content)}", content)
    for content in (LONG, "Something short."):
        name = f"Book of {len(content)}"
        (await load(user, bank, name)).ok()
        (await user.command("MB_Censor", target={"bank": bank}, vx={"name": name})).ok()
        (await load(user, bank, name)).refused(3002, 409)
        (await load(other, f"{bank}-other", name)).ok()


async def test_a_document_that_is_sent_after_a_censoring_is_a_new_text(user: Client, bank: str):
    await hand_in(user, "Book", "The Moon is far.")
    (await load(user, bank, "Book")).ok()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "Book"})).ok()
    (await user.command("MB_Delete", target={"bank": bank}, vx={"name": "Book"})).ok()
    await hand_in(user, "Book", "The Moon is far.")
    assert (await load(user, bank, "Book")).ok().content[0]["text"] == "The Moon is far."


async def test_censored_words_are_gone_from_the_document_and_the_files(tmp_path: Path):
    data = tmp_path / "data"
    secret = "xylophone-quartz-7731"

    async with running(data) as gateway, gateway.client() as client:
        user = await client.register("ada-lovelace")
        await user.agent("scout")
        (await user.command("MB_Create", vx={"name": "notes"})).ok()
        await hand_in(user, "Book", LONG + f"\n\n<p>The code is {secret}.</p>", "text/html")
        parts = (await load(user, "notes", "Book")).ok().content
        assert secret in parts[-1]["text"]
        assert await traces(data, secret)
        (await user.command("MB_Censor", target={"bank": "notes"}, vx={"name": parts[-1]["name"]})).ok()
        assert (await load(user, "notes", "Book")).code == 3002
        await erased(data, secret, within_s=60)
        (await user.command("MB_Read", target={"bank": "notes"}, vx={"name": parts[0]["name"]})).ok()


async def test_censored_words_leave_a_document_that_was_sent_again(tmp_path: Path):
    data = tmp_path / "data"
    secret = "xylophone-quartz-7731"

    async with running(data) as gateway, gateway.client() as client:
        user = await client.register("ada-lovelace")
        await user.agent("scout")
        for bank in ("notes", "others"):
            (await user.command("MB_Create", vx={"name": bank})).ok()
        text = f"<p>The code is {secret}.</p>"
        await hand_in(user, "Code", text, "text/html")
        (await load(user, "notes", "Code")).ok()
        again = await hand_in(user, "Code", text, "text/html")
        await hand_in(user, "Copy", f"The code is {secret}.")
        await hand_in(user, "Harmless", "Nothing of it.")
        body = {"name": "Code", "content": text, "media_type": "text/html"}
        waiting = [await user.request("POST", "/api/documents", json=body | {"name": f"Code {n}"}) for n in range(3)]
        (await user.command("MB_Censor", target={"bank": "notes"}, vx={"name": "Code"})).ok()
        for name in ("Code", "Copy"):
            (await load(user, "others", name)).refused(3002, 409)
        assert (await load(user, "others", "Harmless")).ok().content[0]["text"] == "Nothing of it."
        assert (await user.request("GET", f"/api/documents/{again['id']}")).http == 200
        for document in waiting:
            await done(user, document.body["id"])
        await erased(data, secret, within_s=60)


async def test_a_censoring_leaves_a_waiting_document_of_its_name_or_with_its_words_undone(tmp_path: Path):
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(USER), *banks.insert(BANK, tokenizer.VERSION))))
        for name, content in (("Code", "<p>7&#55;31</p>"), ("Copy", "So it is: 7731."), ("Other", "Nothing of it.")):
            row = DocumentRow(new_number(), name, "usr_1", name, "text/plain", None, 9, "queued", None, 0, 0, 0, 0)
            await store.commit(Unit(documents.add(row, content)))
        memory = MemoryRow(1, "mem_1", "Code", "7731", None, None, None, 0, 0, 0)
        await store.commit(Unit((memories.add("bnk_1", memory, Part("Code", 1, None)),)))
        await store.commit(Unit(censoring.censor("bnk_1", Choice(), 1)))
        found = await rows(store, "SELECT name, status, erased, content FROM documents ORDER BY name")
        assert found == [
            ("Code", "failed", 1, None),
            ("Copy", "failed", 1, None),
            ("Other", "queued", 0, "Nothing of it."),
        ]


# crashes


async def put_back(store: Store, document_id: str) -> None:
    """Leave a document in the state of a crash during its ingestion."""
    await store.commit(
        Unit(
            (
                Write("DELETE FROM document_parts WHERE document_id = ?", (document_id,)),
                Write(
                    "UPDATE documents SET status = 'processing', content = ?, parts = 0 WHERE id = ?",
                    (LONG, document_id),
                    rows=1,
                ),
            )
        )
    )


async def test_what_a_crash_left_in_the_queue_is_done_at_the_next_start(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data, PARLEY_DEFAULT_PLAN="enterprise") as gateway:
        async with gateway.client() as client:
            user = await client.register("ada-lovelace")
            record = await hand_in(user, "Book", LONG)
        await gateway.kill()
        async with open_store(data, name="parley.db") as store:
            await put_back(store, record["id"])
        await gateway.start()
        async with gateway.client() as client:
            user = await client.log_on("ada-lovelace")
            assert (await done(user, record["id"]))["parts"] == record["parts"]


async def test_documents_are_listed_by_name_in_pages(user: Client, sanic_client: Client, unique: str):
    for name in ("plan", "Atlas", "plan 2", "örtlich"):
        await hand_in(user, name, f"{name}: Mars rises at nine.")
    await hand_in(await sanic_client.register(f"{unique}-other"), "Theirs", "Not yours.")
    listed = (await user.request("GET", "/api/documents")).body
    assert [document["name"] for document in listed["documents"]] == ["Atlas", "plan", "plan 2", "örtlich"]
    assert listed["next"] is None
    assert listed["documents"][1] == await done(user, listed["documents"][1]["id"])
    names, cursor = list[str](), ""
    for size in (3, 1):
        page = (await user.request("GET", f"/api/documents?limit=3&cursor={cursor}")).body
        assert len(page["documents"]) == size
        names += [document["name"] for document in page["documents"]]
        cursor = page["next"]
    assert (names, cursor) == (["Atlas", "plan", "plan 2", "örtlich"], None)


async def test_the_cursor_of_the_longest_name_is_taken(user: Client):
    for name in ("\U0001f52d" * 200, "\U0001f52d" * 199 + "\U0001f680"):
        await hand_in(user, name, "Mars.")
    page = (await user.request("GET", "/api/documents?limit=1")).body
    (last,) = (await user.request("GET", f"/api/documents?cursor={page['next']}")).body["documents"]
    assert last["name"].endswith("\U0001f680")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "limit=1_0", "limit=%2010", "cursor=x", "cursor=eA", "name=plan"]
)
async def test_a_page_of_documents_that_can_not_be_is_refused(user: Client, query: str):
    (await user.request("GET", f"/api/documents?{query}")).refused(1003, 400)


async def test_a_removed_document_is_gone_and_what_was_loaded_of_it_stays(
    user: Client, sanic_client: Client, bank: str, unique: str
):
    key = {"Idempotency-Key": "book"}
    body = {"name": "Book", "content": LONG}
    sent = (await user.request("POST", "/api/documents", json=body, headers=key)).body
    (await load(user, bank, (await done(user, sent["id"]))["name"])).ok()
    loaded = await names(user, bank)
    other = await sanic_client.register(f"{unique}-other")
    (await other.request("DELETE", f"/api/documents/{sent['id']}")).refused(3000, 404)
    assert (await user.request("POST", "/api/documents", json=body, headers=key)).body == sent
    assert (await user.request("DELETE", f"/api/documents/{sent['id']}")).http == 204
    assert (await user.request("POST", "/api/documents", json=body, headers=key)).body == {}
    for method in ("GET", "DELETE"):
        (await user.request(method, f"/api/documents/{sent['id']}")).refused(3000, 404)
    (await load(user, bank, "Book")).refused(3000, 404)
    assert (await user.request("GET", "/api/documents")).body == {"documents": [], "next": None}
    assert await names(user, bank) == loaded
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "Book"})).ok()


@pytest.mark.parametrize("ready", [True, False])
async def test_the_text_of_a_removed_document_is_erased_from_the_files(tmp_path: Path, ready: bool):
    data, secret = tmp_path / "data", "swordfish-9431"
    async with running(data, PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        user = await client.register("ada-lovelace")
        body = {"name": "Book", "content": f"{LONG} {secret}", "metadata": {"about": secret}}
        sent = (await user.request("POST", "/api/documents", json=body)).body
        if ready:
            await done(user, sent["id"])
        assert await traces(data, secret)
        assert (await user.request("DELETE", f"/api/documents/{sent['id']}")).http == 204
        await erased(data, secret, within_s=60)


async def test_no_document_that_was_accepted_is_lost_with_a_crash(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway:
        async with gateway.client() as client:
            user = await client.register("ada-lovelace")
            ids: list[str] = []
            for number in range(20):
                body = {"name": f"Book {number}", "content": LONG}
                answer = await user.request("POST", "/api/documents", json=body)
                assert answer.http == 202
                ids.append(answer.body["id"])
        await gateway.kill()
        await gateway.start()
        async with gateway.client() as client:
            user = await client.log_on("ada-lovelace")
            records = [await done(user, document_id) for document_id in ids]
            assert {(record["status"], record["parts"]) for record in records} == {("ready", records[0]["parts"])}


@pytest.mark.parametrize("into", ["another number of parts", "one memory"])
async def test_a_censoring_reaches_quotes_of_memories_that_a_load_replaced(user: Client, bank: str, into: str):
    word = "quartz-7731"
    if into == "one memory":
        await hand_in(user, "notes", f"{LONG}\n\nThe locker code is {word}.")
        (await load(user, bank, "notes")).ok()
    else:
        (await load(user, bank, "notes", content=f"The locker code is {word}.")).ok()
        await hand_in(user, "notes", LONG)
    key = {"Idempotency-Key": "locker"}
    said = (await user.command("AP_Chat", content="What is the locker code?", headers=key)).ok().content[1]
    assert word in said["content"]
    await load(user, bank, "notes", **({"content": "It is lost."} if into == "one memory" else {}))
    assert word in str((await user.command("AP_History")).ok().content)
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "notes"})).ok()
    (message,) = (await user.command("AP_History", page={"limit": 1})).ok().content
    assert word not in str(message)
    assert "[censored]" in message["content"]
    assert (await user.command("AP_Chat", content="What is the locker code?", headers=key)).ok().content == []
