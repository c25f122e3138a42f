"""The engine `openai` with an OpenAI-compatible server on a real socket (docs/contract.md, "Chat engines")."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from socket import socket
from typing import Any

import orjson
import pytest

from tests.gateways.gate import ENGINES
from tests.gateways.model import LIMITS
from tests.support.gateway import Answer, Client, GatewayProcess, running
from tests.support.operator import live_actor
from tests.support.provider import (
    DONE,
    Provider,
    calls,
    chunk,
    drops,
    event,
    providing,
    refuses,
    says,
    sends,
    stalls,
    waits,
)
from tests.support.runs import all_events, cancelled, chatting, text_of
from tests.support.skills import skill_md, zipped
from tests.support.wire import events_of, streamed

KEY = "sk-a-key-that-stays-secret"


@pytest.fixture(scope="module")
async def provider() -> AsyncIterator[Provider]:
    async with providing() as provider:
        yield provider


@pytest.fixture(scope="module")
async def gateway(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    settings = {
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": provider.base_url,
        "PARLEY_OPENAI_API_KEY": KEY,
        "PARLEY_OPENAI_MODEL": "llama",
        "PARLEY_LOG_LEVEL": "debug",
    }
    data = tmp_path_factory.mktemp("model") / "data"
    async with running(data, script=ENGINES / "model.py", **settings) as gateway:
        yield gateway
    assert KEY not in gateway.log.read_text()
    assert "detail of the provider" not in gateway.log.read_text()


@pytest.fixture
async def user(gateway: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with gateway.client() as client:
        yield await client.register(f"{unique}-user")


@pytest.fixture
async def agent(user: Client, unique: str) -> str:
    """An online, selected agent."""
    await user.agent(f"{unique}-agent", access="public", profile="Speak like a pirate.")
    return f"{unique}-agent"


async def chat(user: Client, message: str, **more: Any) -> Answer:
    return await user.command("AP_Chat", content=message, **more)


async def history(user: Client) -> list[tuple[int, str, str]]:
    messages = (await user.command("AP_History")).ok().content
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
    return [(message["seq"], message["role"], message["content"]) for message in messages]


# streaming


async def test_a_reply_streams_as_it_comes(user: Client, agent: str, provider: Provider, unique: str):
    provider.on(unique, says("Ahoy", ", ", "matey", "! 🦜"))
    async with streamed(user, "AP_Chat", content=unique) as response:
        events = [event async for event in events_of(response)]
    assert [event.data["text"] for event in events if event.name == "delta"]
    assert "".join(event.data["text"] for event in events if event.name == "delta") == "Ahoy, matey! 🦜"
    assert events[-1].name == "response"
    assert events[-1].data["content"][1]["content"] == "Ahoy, matey! 🦜"
    assert await history(user) == [(1, "user", unique), (2, "agent", "Ahoy, matey! 🦜")]


async def test_deltas_reach_the_client_before_the_model_is_done(
    user: Client, agent: str, provider: Provider, unique: str
):
    provider.on(unique, stalls(chunk(content="First "), chunk(content="words")))
    async with streamed(user, "AP_Chat", content=unique) as response:
        events = events_of(response)
        first = await anext(events)
        assert (first.name, first.data["text"][:5]) == ("delta", "First")
        rest = [event async for event in events]
    assert (rest[-1].name, rest[-1].data["internal_code"]) == ("error", 5001)
    assert await history(user) == [(1, "user", unique)]


async def test_what_the_server_is_asked(user: Client, agent: str, provider: Provider, unique: str):
    provider.on(unique, says("Aye."))
    provider.on(f"{unique} again", says("Aye, again."))
    (await chat(user, unique)).ok()
    (await chat(user, f"{unique} again")).ok()
    first, second = provider.asked(unique)[0], provider.asked(f"{unique} again")[0]
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert (first.body["model"], first.body["stream"]) == ("llama", True)
    assert "temperature" not in first.body
    assert agent in first.system
    assert "Speak like a pirate." in first.system
    assert first.said == [("user", unique)]
    assert second.said == [("user", unique), ("assistant", "Aye."), ("user", f"{unique} again")]


async def test_an_agent_brings_its_own_model_instructions_and_temperature(
    user: Client, provider: Provider, unique: str
):
    profile = {"instructions": "Answer in verse.", "model": "poet-7b", "temperature": 0.3}
    await user.agent(f"{unique}-poet", profile=orjson.dumps(profile).decode())
    provider.on(unique, says("Verse."))
    (await chat(user, unique)).ok()
    (request,) = provider.asked(unique)
    assert (request.body["model"], request.body["temperature"]) == ("poet-7b", 0.3)
    assert "Answer in verse." in request.system
    assert "poet-7b" not in request.system


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ('{"temperature": "hot"}', "temperature"),
        ('{"temperature": 3}', "temperature"),
        ('{"model": 7}', "model"),
        ('{"instructions": []}', "instructions"),
    ],
)
async def test_a_profile_that_can_t_be_meant_is_told_and_nobody_is_asked(
    user: Client, provider: Provider, unique: str, profile: str, told: str
):
    await user.agent(f"{unique}-odd", profile=profile)
    assert f"wrong {told}" in (await chat(user, unique)).refused(5001, 502).note
    assert provider.asked(unique) == []


async def test_a_profile_that_is_some_other_json_is_the_instructions(user: Client, provider: Provider, unique: str):
    await user.agent(f"{unique}-json", profile='{"role": "astronomer"}')
    provider.on(unique, says("Aye."))
    (await chat(user, unique)).ok()
    assert '{"role": "astronomer"}' in provider.asked(unique)[0].system


async def test_a_long_conversation_is_cut_to_the_budget_newest_first(
    user: Client, agent: str, provider: Provider, unique: str
):
    for number in range(6):
        provider.on(f"{unique} {number}", says(f"Reply {number} " + "word " * 150))
        (await chat(user, f"{unique} {number}")).ok()
    provider.on(f"{unique} last", says("Done."))
    (await chat(user, f"{unique} last")).ok()
    said = provider.asked(f"{unique} last")[0].said
    assert said[-1] == ("user", f"{unique} last")
    assert 3 <= len(said) < 13
    assert said[-2][1].startswith("Reply 5")
    assert sum(len(content) for _, content in said) / 4 < LIMITS.prompt_tokens


# failures: each is 5001, keeps the user's message, and neither loses nor duplicates anything

SAYS_SO = says("Here it is.")
FAILURES = {
    "500 for good": [refuses(500)] * 3,
    "503 for good": [refuses(503)] * 3,
    "429 for good": [refuses(429, Retry_After="0")] * 3,
    "429 for too long": [refuses(429, Retry_After="3600"), SAYS_SO],
    "401": [refuses(401), SAYS_SO],
    "404": [refuses(404), SAYS_SO],
    "400": [refuses(400), SAYS_SO],
    "no JSON in a chunk": [sends(b"data: {not json\n\n", DONE), SAYS_SO],
    "a chunk that is a list": [sends(event([1, 2]), DONE), SAYS_SO],
    "choices that are a text": [sends(event({"choices": "none"}), DONE), SAYS_SO],
    "a text that is a number": [sends(chunk(content=7), DONE), SAYS_SO],
    "tool calls that are a text": [sends(chunk(tool_calls="all"), DONE), SAYS_SO],
    "no UTF-8": [sends(b'data: {"choices": "\xff\xfe"}\n\n', DONE), SAYS_SO],
    "a malformed chunk after the first token": [sends(chunk(content="He"), b"data: {nope\n\n"), SAYS_SO],
    "an empty answer": [says()],
    "a filter": [says(finish="content_filter")],
    "an answer without end": [sends(chunk(content="Half an ans"))],
    "a dropped connection after the first token": [drops(chunk(content="Half")), SAYS_SO],
    "a stall after the first token": [stalls(chunk(content="Half")), SAYS_SO],
    "a stall before the first token, for good": [stalls(chunk(role="assistant"))] * 3,
    "dropped connections for good": [drops()] * 3,
    "an error in the stream after the first token": [
        sends(chunk(content="Half"), event({"error": {"message": "detail of the provider"}})),
        SAYS_SO,
    ],
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failing_server_answers_5001_and_the_message_is_kept(
    user: Client, agent: str, provider: Provider, unique: str, failure: str
):
    provider.on(unique, *FAILURES[failure])
    answer = (await chat(user, unique)).refused(5001, 502)
    assert "kept" in answer.note
    assert "detail of the provider" not in answer.note
    assert KEY not in str(answer.body)
    assert await history(user) == [(1, "user", unique)]
    provider.on(f"{unique} once more", says("Here I am."))
    (await chat(user, f"{unique} once more")).ok()
    assert await history(user) == [
        (1, "user", unique),
        (2, "user", f"{unique} once more"),
        (3, "agent", "Here I am."),
    ]


async def test_the_log_says_which_server_can_t_be_reached_and_why(tmp_path: Path):
    with socket() as closed:
        closed.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        settings: dict[str, Any] = {
            "PARLEY_CHAT_ENGINE": "openai",
            "PARLEY_OPENAI_BASE_URL": base_url,
            "PARLEY_OPENAI_MODEL": "llama",
        }
        async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
            user = await client.register("lovelace")
            await user.agent("scout")
            assert "can't be reached" in (await chat(user, "Hello")).refused(5001, 502).note
    assert re.search(rf"the model server failed \(.*connect.*\) at {base_url}/", gateway.logged())


RECOVERIES = {
    "429 with Retry-After in seconds": [refuses(429, Retry_After="1")],
    "429 with Retry-After in milliseconds": [refuses(429, retry_after_ms="20")],
    "429 with Retry-After as a date": [refuses(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")],
    "429 with nonsense in Retry-After": [refuses(429, Retry_After="soon")],
    "500 twice": [refuses(500), refuses(502)],
    "a dropped connection before the first token": [drops()],
    "a connection dropped after the head": [drops(chunk(role="assistant"))],
    "a stall before the head": [waits(asyncio.Event())],
    "a stall before the first token": [stalls()],
    "a stall after the role": [stalls(chunk(role="assistant", content=""))],
    "an error in the stream": [sends(event({"error": {"message": "detail of the provider"}}))],
}


@pytest.mark.parametrize("failure", RECOVERIES)
async def test_a_failure_before_the_first_token_is_tried_again(
    user: Client, agent: str, provider: Provider, unique: str, failure: str
):
    provider.on(unique, *RECOVERIES[failure], SAYS_SO)
    answer = (await chat(user, unique)).ok()
    assert answer.content[1]["content"] == "Here it is."
    assert len(provider.asked(unique)) == len(RECOVERIES[failure]) + 1
    assert await history(user) == [(1, "user", unique), (2, "agent", "Here it is.")]


async def test_after_the_first_token_nothing_is_tried_again(user: Client, agent: str, provider: Provider, unique: str):
    provider.on(unique, drops(chunk(content="Half")), SAYS_SO)
    (await chat(user, unique)).refused(5001, 502)
    assert len(provider.asked(unique)) == 1


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((chunk(content="a\x00b"), chunk("stop")), "ab"),
        ((b'data: {"choices":[{"delta":{"content":"\\ud83d x"}}]}\n\n', chunk("stop")), "\ufffd x"),
        ((chunk(content="no end mark"), chunk("stop")), "no end mark"),
        ((chunk(content="with usage"), chunk("stop"), event({"choices": [], "usage": {}}), DONE), "with usage"),
        ((chunk(reasoning_content="hm"), chunk(content="thought"), chunk("stop"), DONE), "thought"),
        ((chunk(refusal="I can't."), chunk("stop"), DONE), "I can't."),
        ((b": a comment\n\n", chunk(content="x"), chunk("length"), DONE), "x"),
        ((chunk(content="y" * 40_000), chunk("stop"), DONE), "y" * 32_000),
    ],
)
async def test_what_servers_do_differently_is_read(
    user: Client, agent: str, provider: Provider, unique: str, parts: tuple[bytes, ...], said: str
):
    provider.on(unique, sends(*parts))
    assert (await chat(user, unique)).ok().content[1]["content"] == said


async def test_a_stalled_conversation_holds_up_no_other(
    user: Client, agent: str, provider: Provider, gateway: GatewayProcess, unique: str
):
    gate = asyncio.Event()
    provider.on(f"{unique} stalls", waits(gate, "At last."))
    provider.on(f"{unique} quick", says("At once."))
    async with gateway.client() as client:
        other = await client.register(f"{unique}-other")
        stalled = asyncio.create_task(chat(user, f"{unique} stalls"))
        while not provider.asked(f"{unique} stalls"):
            await asyncio.sleep(0.01)
        quick = await chat(other, f"{unique} quick", target={"agent": agent})
        assert quick.ok().content[1]["content"] == "At once."
        assert not stalled.done()
        gate.set()
        assert (await stalled).ok().content[1]["content"] == "At last."


async def test_no_more_answers_stream_at_a_time_than_the_limit(
    user: Client, agent: str, provider: Provider, gateway: GatewayProcess, unique: str
):
    gate = asyncio.Event()
    names = [f"{unique}-of{number}" for number in range(LIMITS.concurrent + 3)]
    for name in names:
        provider.on(name, waits(gate, "Aye."))
        await user.agent(name, access="public", select=False)
    async with gateway.client() as second, gateway.client() as third:
        speakers = [user, await second.register(f"{unique}-second"), await third.register(f"{unique}-third")]
        chats = [
            asyncio.create_task(chat(speakers[number % 3], name, target={"agent": name}))
            for number, name in enumerate(names)
        ]
        while len([name for name in names if provider.asked(name)]) < LIMITS.concurrent:
            await asyncio.sleep(0.01)
        assert len([name for name in names if provider.asked(name)]) == LIMITS.concurrent
        gate.set()
        assert [(await sent).ok().content[1]["content"] for sent in chats] == ["Aye."] * len(names)


async def test_the_debug_page_tells_nothing_that_was_said(user: Client, agent: str, provider: Provider, unique: str):
    provider.on(f"{unique} xylophone", says("A marimba."))
    agent_id = (await user.command("AP_Read")).ok().profile[0]["id"]
    (await chat(user, f"{unique} xylophone")).ok()
    shown = str((await live_actor(user, "agent", agent_id)).body)
    assert not any(word in shown for word in ("xylophone", "marimba", KEY))


@pytest.mark.parametrize("in_a_domain", [False, True])
async def test_one_user_does_not_keep_the_others_waiting(
    user: Client, provider: Provider, gateway: GatewayProcess, unique: str, in_a_domain: bool
):
    gate, names = asyncio.Event(), [f"{unique}-agent-{number}" for number in range(9)]
    targets: list[dict[str, str]] = []
    for name in names:
        await user.agent(name)
        domain = {"vx": {"name": f"{name}-domain", "description": "d"}} if in_a_domain else None
        if domain:
            (await user.command("DM_Create", **domain)).ok()
        targets.append({"agent": name, **({"domain": f"{name}-domain"} if domain else {})})
        provider.on(f"{unique} {name}", waits(gate, "Aye."))
    pending = [
        asyncio.create_task(chat(user, f"{unique} {name}", target=target))
        for name, target in zip(names, targets, strict=True)
    ]

    def asked() -> int:
        return sum(bool(provider.asked(f"{unique} {name}")) for name in names)

    while asked() < LIMITS.per_speaker:
        await asyncio.sleep(0.01)
    async with gateway.client() as client:
        other = await client.register(f"{unique}-other")
        await other.agent(f"{unique}-others")
        provider.on(f"{unique} quick", says("Here I am."))
        (await chat(other, f"{unique} quick")).ok()
    assert asked() == LIMITS.per_speaker
    gate.set()
    for answer in await asyncio.gather(*pending):
        answer.ok()


# tools and skills


async def test_the_owner_s_tools_are_offered_and_used(user: Client, agent: str, provider: Provider, unique: str):
    provider.on(unique, calls(("clock__time", '{"zone": "Berlin"}'), text="Let me see."), says("It is noon."))
    answer = (await chat(user, unique)).ok()
    assert answer.content[1]["content"] == "Let me see.\n\nIt is noon."
    first, second = provider.asked(unique)
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["clock__time", "clock__broken", "banks__read"]
    assert first.body["tools"][0]["function"]["parameters"]["properties"] == {"zone": {"type": "string"}}
    wanted, answered = second.body["messages"][-2:]
    assert wanted["tool_calls"][0]["function"] == {"name": "clock__time", "arguments": '{"zone": "Berlin"}'}
    assert answered == {"role": "tool", "tool_call_id": "id0", "content": "noon in Berlin"}


async def test_others_get_neither_tools_nor_skills(
    user: Client, agent: str, provider: Provider, gateway: GatewayProcess, unique: str
):
    await user.request("POST", "/api/skills/install", json={"name": "meeting-notes"})
    provider.on(unique, says("Aye."), calls(("clock__time", "{}")), says("No."))
    async with gateway.client() as client:
        other = await client.register(f"{unique}-other")
        await other.request("POST", "/api/skills/install", json={"name": "release-checklist"})
        (await chat(other, unique, target={"agent": agent})).ok()
        (await chat(other, unique, target={"agent": agent})).ok()
    first, *_, last = provider.asked(unique)
    assert "tools" not in first.body
    assert "meeting-notes" not in first.system
    assert "release-checklist" not in first.system
    assert "no tool" in last.body["messages"][-1]["content"]


async def test_tools_are_the_owner_s_in_a_zone_too(
    user: Client, agent: str, provider: Provider, gateway: GatewayProcess, unique: str
):
    (await user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d", "access": "public"})).ok()
    provider.on(f"{unique} own", says("Aye."))
    provider.on(f"{unique} other", says("Aye, too."))
    target = {"domain": f"{unique}-domain", "agent": agent}
    (await chat(user, f"{unique} own", target=target)).ok()
    async with gateway.client() as client:
        other = await client.register(f"{unique}-other")
        await other.agent(f"{unique}-guest")
        (await other.command("DM_Join", target={"domain": f"{unique}-domain", "agent": f"{unique}-guest"})).ok()
        (await chat(other, f"{unique} other", target=target)).ok()
    assert "tools" in provider.asked(f"{unique} own")[0].body
    (request,) = provider.asked(f"{unique} other")
    assert "tools" not in request.body
    assert request.said == [
        ("user", f"{unique}-user: {unique} own"),
        ("assistant", "Aye."),
        ("user", f"{unique}-other: {unique} other"),
    ]


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        ("clock__broken", "{}", "Error: The tool server clock failed."),
        ("clock__time", "{not json", "Error: the arguments are not a JSON object."),
        ("clock__time", "[1]", "Error: the arguments are not a JSON object."),
        ("no_such", "{}", "Error: there is no tool no_such."),
        ("read_skill", "{}", "Error: there is no tool read_skill."),
    ],
)
async def test_a_tool_that_fails_is_the_model_s_to_handle(
    user: Client, agent: str, provider: Provider, unique: str, function: str, arguments: str, told: str
):
    provider.on(unique, calls((function, arguments)), says("Never mind."))
    assert (await chat(user, unique)).ok().content[1]["content"] == "Never mind."
    assert provider.asked(unique)[1].body["messages"][-1]["content"] == told


async def test_tools_are_used_so_many_times_and_no_more(user: Client, agent: str, provider: Provider, unique: str):
    again = calls(("clock__time", "{}"))
    provider.on(unique, *[again] * LIMITS.tool_rounds, says("Enough."))
    assert (await chat(user, unique)).ok().content[1]["content"] == "Enough."
    assert [request.body.get("tool_choice") for request in provider.asked(unique)] == [
        *[None] * LIMITS.tool_rounds,
        "none",
    ]
    provider.on(f"{unique} ever", *[again] * (LIMITS.tool_rounds + 5))
    (await chat(user, f"{unique} ever")).refused(5001, 502)
    assert len(provider.asked(f"{unique} ever")) == LIMITS.tool_rounds + 1


async def test_skills_are_named_in_the_prompt_and_read_when_wanted(
    user: Client, agent: str, provider: Provider, unique: str
):
    front = "name: star-maps\ndescription: Draws star maps. Use when asked where a star is."
    packed = zipped(
        ("star-maps/SKILL.md", skill_md(front, "Draw north up.")), ("star-maps/references/a.md", "Azimuth first.")
    )
    async with user.http.post(
        f"{user.base}/api/skills/install", data={"file": _file(packed)}, headers=user.headers()
    ) as response:
        assert response.status == 201
    provider.on(
        unique,
        calls(("read_skill", '{"name": "star-maps"}'), ("read_skill", '{"name": "no-such"}')),
        calls(("read_skill", '{"name": "star-maps", "file": "references/a.md"}')),
        says("Done."),
    )
    (await chat(user, unique)).ok()
    first, second, third = provider.asked(unique)
    assert "- star-maps: Draws star maps. Use when asked where a star is." in first.system
    assert "Draw north up." not in first.system
    body, missing = (message["content"] for message in second.body["messages"][-2:])
    assert body == "Draw north up.\n\nFiles of this skill: references/a.md"
    assert missing == "Error: there is no such skill or file."
    assert third.body["messages"][-1]["content"] == "Azimuth first."
    provider.on(f"use star-maps, {unique}", says("Drawn."))
    (await chat(user, f"Please use star-maps, {unique}")).ok()
    assert "Draw north up." in provider.asked(f"use star-maps, {unique}")[0].system


def _file(packed: bytes) -> Any:
    from io import BytesIO  # noqa: PLC0415

    file = BytesIO(packed)
    file.name = "skill.zip"
    return file


# memories


@pytest.fixture
async def bank(user: Client, agent: str, unique: str) -> str:
    """A bank of the agent with a code in it."""
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    text = "The code of the observatory's door is quartz-7731. The door is green."
    load = {"target": {"bank": f"{unique}-bank"}, "vx": {"name": "The door"}, "content": text}
    (await user.command("MB_Load", **load)).ok()
    return f"{unique}-bank"


async def test_memories_are_given_and_those_that_are_used_are_sources(
    user: Client, agent: str, bank: str, provider: Provider, unique: str
):
    question = f"{unique}: what is the code of the door?"
    provider.on(question, says("It is quartz-7731."), says("I am not sure."))
    used = (await chat(user, question)).ok().content[1]
    assert f"[{bank}: The door]" in provider.asked(question)[0].system
    assert used["sources"] == [
        {"bank": bank, "name": "The door", "quote": "The code of the observatory's door is quartz-7731."}
    ]
    assert (await chat(user, question)).ok().content[1]["sources"] == []


async def test_a_censored_memory_leaves_the_replies_that_used_it_or_repeat_it(
    user: Client, agent: str, bank: str, provider: Provider, unique: str
):
    question, repeat, other = f"{unique}: the code of the door?", f"{unique}: say that again", f"{unique}: hello"
    provider.on(question, says("Quartz-7731, my friend."))
    provider.on(repeat, says("I said quartz-7731."))
    provider.on(other, says("Good evening."))
    for message in (question, repeat, other):
        (await chat(user, message)).ok()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    replies = [content for _, role, content in await history(user) if role == "agent"]
    assert replies == ["[censored]", "[censored]", "Good evening."]
    assert "quartz" not in str((await user.command("AP_History")).body)
    provider.on(f"{unique}: and now?", says("I know nothing."))
    (await chat(user, f"{unique}: and now?")).ok()
    assert "quartz" not in str(provider.asked(f"{unique}: and now?")[0].body).lower()


async def test_a_censored_memory_leaves_replies_that_a_tool_brought_it_into(
    user: Client, agent: str, bank: str, provider: Provider, gateway: GatewayProcess, unique: str
):
    message, other = f"{unique}: hello there", f"{unique}: good evening"
    provider.on(message, calls(("banks__read", "{}")), says("By the way: quartz-7731."))
    provider.on(other, calls(("banks__read", "{}")), says("Nothing new."))
    key = {"Idempotency-Key": "tool-1"}
    assert (await chat(user, message, headers=key)).ok().content[1]["sources"] == []
    (await chat(user, other)).ok()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    replies = [content for _, role, content in await history(user) if role == "agent"]
    assert replies == ["[censored]", "Nothing new."]
    assert "quartz" not in str((await chat(user, message, headers=key)).body)


async def test_what_the_model_did_not_get_to_see_of_a_tool_s_answer_is_not_in_its_reply(
    user: Client, agent: str, provider: Provider, unique: str
):
    bank = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": bank})).ok()
    for number in range(9):
        content = "The weather is fine. " * 180
        (await user.command("MB_Load", target={"bank": bank}, vx={"name": f"a {number}"}, content=content)).ok()
    load = {"target": {"bank": bank}, "vx": {"name": "z"}, "content": "The code of the door is quartz-7731."}
    (await user.command("MB_Load", **load)).ok()
    message = f"{unique}: hello there"
    provider.on(message, calls(("banks__read", "{}")), says("I like quartz."))
    (await chat(user, message)).ok()
    seen = provider.asked(message)[1].body["messages"][-1]["content"]
    assert len(seen) < 32_100
    assert "quartz" not in seen
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "z"})).ok()
    assert await history(user) == [(1, "user", message), (2, "agent", "I like quartz.")]


async def test_a_censored_memory_leaves_kept_answers_too(
    user: Client, agent: str, bank: str, provider: Provider, unique: str
):
    question, repeat = f"{unique}: the code of the door?", f"{unique}: say that again"
    provider.on(question, says("Quartz-7731, my friend."))
    provider.on(repeat, says("I said quartz-7731."))
    keys = {message: {"Idempotency-Key": f"key-{number}"} for number, message in enumerate((question, repeat))}
    for message, key in keys.items():
        (await chat(user, message, headers=key)).ok()
        assert "quartz" in str((await chat(user, message, headers=key)).body).lower()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    for message, key in keys.items():
        again = await chat(user, message, headers=key)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert "quartz" not in str(again.body).lower()


async def test_a_repeat_after_a_failure_goes_on_with_the_same_message(
    user: Client, agent: str, provider: Provider, unique: str
):
    provider.on(unique, drops(chunk(content="Half")), says("Here I am."))
    key = {"Idempotency-Key": "once"}
    (await chat(user, unique, headers=key)).refused(5001, 502)
    assert await history(user) == [(1, "user", unique)]
    (await chat(user, unique, headers=key)).ok()
    assert await history(user) == [(1, "user", unique), (2, "agent", "Here I am.")]
    assert [request.said for request in provider.asked(unique)] == [[("user", unique)]] * 2


async def test_a_censored_memory_leaves_zones_too(user: Client, agent: str, bank: str, provider: Provider, unique: str):
    (await user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    question, repeat = f"{unique}: the code of the door?", f"{unique}: say that again"
    provider.on(question, says("Quartz-7731, my friend."))
    provider.on(repeat, says("I said quartz-7731."))
    target = {"domain": f"{unique}-domain", "agent": agent}
    for message in (question, repeat):
        (await chat(user, message, target=target)).ok()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    read = await user.command("ZN_Read", target={"domain": f"{unique}-domain"})
    assert [message["content"] for message in read.ok().content] == [question, "[censored]", repeat, "[censored]"]
    assert "quartz" not in str(read.body)


@pytest.mark.parametrize("in_a_domain", [False, True])
async def test_a_memory_that_is_deleted_while_the_model_answers_costs_no_reply(
    user: Client, agent: str, bank: str, provider: Provider, unique: str, in_a_domain: bool
):
    (await user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "d"})).ok()
    target = {"target": {"domain": f"{unique}-domain", "agent": agent}} if in_a_domain else {}
    question, gate = f"{unique}: what is the code of the door?", asyncio.Event()
    provider.on(question, waits(gate, "It is quartz-7731."))
    asked = asyncio.create_task(chat(user, question, **target))
    while not provider.asked(question):
        await asyncio.sleep(0.01)
    (await user.command("MB_Delete", target={"bank": bank}, vx={"name": "*"})).ok()
    gate.set()
    assert (await asked).ok().content[1]["content"] == "It is quartz-7731."
    if not in_a_domain:
        assert await history(user) == [(1, "user", question), (2, "agent", "It is quartz-7731.")]


# runs


async def test_a_cancelled_reply_has_its_sources_and_leaves_with_them(
    user: Client, agent: str, bank: str, provider: Provider, unique: str
):
    question, repeat = f"{unique}: the code of the door?", f"{unique}: say that again"
    provider.on(question, stalls(chunk(content="Quartz-7731, my "), chunk(content="friend")))
    provider.on(repeat, says("I said quartz-7731."))
    async with chatting(user, question) as run:
        while text_of(run.events) != "Quartz-7731, my friend":
            await run.next()
        reply = (await cancelled(user, run.run)).body["reply"]
        assert (await run.rest())[-1].data["content"][1] == reply
    assert (reply["content"], reply["mark"]) == ("Quartz-7731, my friend", "cancelled")
    assert [source["bank"] for source in reply["sources"]] == [bank]
    (await chat(user, repeat)).ok()
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    replies = [content for _, role, content in await history(user) if role == "agent"]
    assert replies == ["[censored]", "[censored]"]
    events = await all_events(user, run.run)
    assert (text_of(events), events[-1].data["content"][1]["content"]) == ("[censored]", "[censored]")
    assert "quartz" not in str(await all_events(user, run.run, "3")).lower()


async def test_a_cancelled_run_lets_go_of_the_server(user: Client, agent: str, provider: Provider, unique: str):
    names = [f"{unique} {number}" for number in range(LIMITS.per_speaker + 2)]
    for name in names:
        provider.on(name, stalls())
        sent = asyncio.create_task(chat(user, name))
        while not provider.asked(name):
            await asyncio.sleep(0.01)
        message = (await user.command("AP_History")).ok().content[-1]
        run = (await cancelled(user, message["id"].replace("msg_", "run_"))).body
        assert (run["state"], run["reply"]) == ("cancelled", None)
        (await sent).refused(3002, 409)
    provider.on(f"{unique} after", says("Here I am."))
    (await chat(user, f"{unique} after")).ok()
    assert [message for _, _, message in await history(user)] == [*names, f"{unique} after", "Here I am."]


async def test_the_text_of_a_failed_run_is_gone_once_a_memory_is_censored(
    user: Client, agent: str, bank: str, provider: Provider, unique: str
):
    question = f"{unique}: the code of the door?"
    provider.on(question, drops(chunk(content="Quartz-7731, my ")))
    (await chat(user, question)).refused(5001, 502)
    message = (await user.command("AP_History")).ok().content[-1]
    run = message["id"].replace("msg_", "run_")
    assert text_of(await all_events(user, run)) == "Quartz-7731, my "
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    assert [event.name for event in await all_events(user, run)] == ["error"]
