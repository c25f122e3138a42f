"""No request blocks the loop: no step takes more than 20 ms of its thread's processor time."""

import asyncio

import pytest

from tests.support.gateway import Answer, Client
from tests.support.longest_step import LONGEST, TEXTS, Stepped
from tests.support.runs import DOORS

ALL_TEXTS = pytest.mark.parametrize("kind", TEXTS)
WORST_TEXTS = pytest.mark.parametrize(
    "kind", ["Han", "Latin", "combining marks", "a letter that NFKC makes 18 of", "spaced Han"]
)


async def bank_of(user: Client, name: str, *texts: str) -> str:
    """Create a bank with these memories."""
    (await user.command("MB_Create", vx={"name": name})).ok()
    for number, text in enumerate(texts):
        (await user.command("MB_Load", target={"bank": name}, vx={"name": f"memory {number}"}, content=text)).ok()
    return name


@ALL_TEXTS
async def test_a_chat_of_32_000_characters_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, kind: str
) -> None:
    async def told() -> None:
        (await loop_user.command("AP_Chat", content=TEXTS[kind](LONGEST))).ok()

    async def asked() -> None:
        (await loop_user.command("AP_Chat", content=f"? {TEXTS[kind](LONGEST - 4)} ?")).ok()

    await stepped_server.is_never_held_up(told)
    await stepped_server.is_never_held_up(asked)


@WORST_TEXTS
async def test_an_agent_with_the_longest_profile_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, kind: str
) -> None:
    async def described_anew() -> None:
        texts = {"description": TEXTS[kind](8_000), "profile": TEXTS[kind](8_000)}
        (await loop_user.command("AP_Modify", vx=texts)).ok()
        (await loop_user.command("AP_Chat", content="How far is the Moon?")).ok()

    await stepped_server.is_never_held_up(described_anew)


@WORST_TEXTS
async def test_an_agent_that_looks_through_long_messages_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, unique: str, kind: str
) -> None:
    (await loop_user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "Long talk"})).ok()
    (await loop_user.command("DM_Select", target={"domain": f"{unique}-domain"})).ok()

    async def asked_after_long_posts() -> None:
        for _ in range(12):
            (await loop_user.command("ZN_Post", content=TEXTS[kind](LONGEST))).ok()
        (await loop_user.command("AP_Chat", content="How far is the Moon?")).ok()

    await stepped_server.is_never_held_up(asked_after_long_posts)


@WORST_TEXTS
async def test_a_memory_of_32_000_characters_holds_up_nobody_when_loaded_and_when_recalled(
    stepped_server: Stepped, loop_user: Client, unique: str, kind: str
) -> None:
    bank = await bank_of(loop_user, f"{unique}-bank")
    names = iter(range(99))

    async def loaded() -> None:
        text = f"Moon {TEXTS[kind](LONGEST - 5)}"
        (await loop_user.command("MB_Load", target={"bank": bank}, vx={"name": f"m{next(names)}"}, content=text)).ok()

    async def recalled() -> Answer:
        return (await loop_user.command("MB_Recall", target={"bank": bank}, content="How far is the Moon?")).ok()

    async def asked_at_length() -> None:
        (await loop_user.command("MB_Recall", target={"bank": bank}, content=TEXTS[kind](LONGEST))).ok()

    async def chatted() -> None:
        (await loop_user.command("AP_Chat", content="Moon?")).ok()

    for _ in range(4):
        await stepped_server.is_never_held_up(loaded)
    assert (await recalled()).content
    for request in (recalled, asked_at_length, chatted):
        await stepped_server.is_never_held_up(request)


@pytest.mark.parametrize("banks", [4, pytest.param(16, marks=pytest.mark.soak)])
async def test_many_banks_of_long_memories_hold_up_nobody(
    stepped_server: Stepped, loop_user: Client, unique: str, banks: int
) -> None:
    for number in range(banks):
        texts = [f"The Moon. {TEXTS['Han'](LONGEST - 10)}" for _ in range(2)]
        await bank_of(loop_user, f"{unique}-bank-{number}", *texts)

    async def asked() -> None:
        said = (await loop_user.command("AP_Chat", content="Is it the Moon?")).ok()
        assert said.content[1]["sources"]

    async def asked_at_length() -> None:
        (await loop_user.command("AP_Chat", content=f"Moon? {TEXTS['Han'](LONGEST - 6)}")).ok()

    await stepped_server.is_never_held_up(asked)
    await stepped_server.is_never_held_up(asked_at_length)


async def test_long_chats_of_one_conversation_are_answered_whole_and_in_order(loop_user: Client) -> None:
    slow = [asyncio.create_task(loop_user.command("AP_Chat", content=TEXTS["Han"](LONGEST))) for _ in range(4)]
    (await loop_user.command("AP_Read")).ok()
    answers = [answer.ok() for answer in await asyncio.gather(*slow)]
    seqs = [message["seq"] for answer in answers for message in answer.content]
    assert sorted(seqs) == list(range(1, 9))
    assert all(answer.content[1]["seq"] == answer.content[0]["seq"] + 1 for answer in answers)


@WORST_TEXTS
@pytest.mark.parametrize("door", ["completions", "responses", "A2A"])
async def test_a_long_message_holds_up_nobody_at_any_door(
    stepped_server: Stepped, loop_user: Client, unique: str, kind: str, door: str
) -> None:
    async def told() -> None:
        path, body, headers = DOORS[door](f"{unique}-agent", TEXTS[kind](LONGEST))
        assert (await loop_user.request("POST", path, json=body, headers=headers)).http == 200

    await stepped_server.is_never_held_up(told)


@WORST_TEXTS
async def test_a_long_history_that_a_client_sends_along_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, unique: str, kind: str
) -> None:
    roles = ("user", "assistant", "user", "assistant", "user")

    async def told_twice() -> None:
        texts = [TEXTS[kind](LONGEST), "All right.", TEXTS[kind](LONGEST), "All right.", "And now?"]
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        for _ in range(2):
            body = {"model": f"{unique}-agent", "messages": messages}
            assert (await loop_user.request("POST", "/v1/chat/completions", json=body)).http == 200

    await stepped_server.is_never_held_up(told_twice)


@WORST_TEXTS
async def test_a_long_question_about_long_messages_that_answer_it_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, kind: str
) -> None:
    async def asked_about_long_messages() -> None:
        for _ in range(6):
            said = f"I moved the Moon to shelf 7 instead. {TEXTS[kind](LONGEST - 40)}"
            (await loop_user.command("AP_Chat", content=said)).ok()
        asked = f"Where did I move the Moon? {TEXTS[kind](LONGEST - 40)}"
        (await loop_user.command("AP_Chat", content=asked)).ok()
        (await loop_user.command("AP_Chat", content="Which shelf did I move the Moon to?")).ok()

    await stepped_server.is_never_held_up(asked_about_long_messages)
