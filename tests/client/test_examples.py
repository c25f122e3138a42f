"""The programs of examples/ run against the gateway; what they print is compared with what they promise."""

import asyncio
import os
import re
import signal

import aiohttp
import pytest

from parley_client import AsyncParley
from tests.support.client_world import PASSWORD
from tests.support.forked import Forked
from tests.support.gateway import CHECKOUT, GatewayProcess

EXAMPLES = CHECKOUT / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py"))


async def started(program: str, url: str, *arguments: str, **environment: str) -> Forked:
    """Start a program with these variables of the environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    return await Forked.start(EXAMPLES / program, arguments, kept | {"PARLEY_URL": url} | environment)


async def printed(program: str, url: str, *arguments: str, **environment: str) -> list[str]:
    """Run a program to its end; return the lines that it prints."""
    status, out, err = await (await started(program, url, *arguments, **environment)).communicate()
    assert (status, err.decode()) == (0, "")
    return out.decode().splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_short_listed_and_tells_how_to_run_it(program: str) -> None:
    text = (EXAMPLES / program).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    docstring = text.split('"""')[1]
    assert "make run" in docstring
    assert f"python examples/{program}" in docstring
    assert f"[{program}]({program})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_there_is_a_program_of_each_kind() -> None:
    assert PROGRAMS == [
        "knowledge_base.py",
        "load_test.py",
        "openai_moved_over.py",
        "two_agents.py",
        "webhook_receiver.py",
    ]


async def test_two_agents_answer_a_person_and_one_another(gateway: GatewayProcess) -> None:
    said = [line.partition(": ") for line in await printed("two_agents.py", gateway.base)]
    names = [name.partition("-")[0] for name, _, _ in said]
    assert names == ["sandbox", "astronomer", "sandbox", "engineer", "sandbox", "astronomer"]
    texts = [text for _, _, text in said]
    assert "Saturn is up tonight" in texts[1]
    assert re.search(r"^astronomer-\w+ asks: .*@engineer", texts[2])
    assert "The dome opens at ten tonight" in texts[3]
    assert re.search(r"^engineer-\w+ asks: .*@astronomer", texts[4])
    assert "Saturn is up tonight" in texts[5]


async def test_a_knowledge_base_cites_the_memories_of_its_answers(gateway: GatewayProcess) -> None:
    text = "\n".join(await printed("knowledge_base.py", gateway.base))
    leave, flights, france = text.split("> ")[1:]
    assert re.search(r"28 days of leave(.|\n)*\[handbook-\w+: Leave\] .*28 days", leave)
    assert re.search(r"approval of the team's lead(.|\n)*\[handbook-\w+: Travel\] .*approval", flights)
    assert "Paris" not in france
    assert "[" not in france
    (question, answer, source) = await printed("knowledge_base.py", gateway.base, "When is a laptop replaced?")
    assert question == "> When is a laptop replaced?"
    assert "after four years" in answer
    assert ": Laptops]" in source


async def test_a_program_for_openai_moves_over_by_one_line(gateway: GatewayProcess) -> None:
    first, source, second, kept = await printed("openai_moved_over.py", gateway.base)
    assert "384,400 km" in first
    assert re.fullmatch(r"  \[Distance\] parley://bank/astronomer-\w+-notes/Distance", source)
    assert "Neil Armstrong" in second
    assert re.fullmatch(r"Parley keeps 4 messages in cnv_\w+\.", kept)


async def test_a_load_test_chats_as_each_user_and_removes_them(gateway: GatewayProcess) -> None:
    arguments = ("--users", "3", "--chats", "4", "--seconds", "60")
    rate, times = await printed("load_test.py", gateway.base, *arguments)
    made = re.fullmatch(r"12 chats by 3 users in ([\d.]+) s: (\d+) chats/s", rate)
    assert made is not None
    seconds, per_second = float(made[1]), int(made[2])
    assert 12 / (seconds + 0.0005) - 0.5 <= per_second <= 12 / (seconds - 0.0005) + 0.5
    spread = re.fullmatch(r"p50 ([\d.]+) ms, p99 ([\d.]+) ms; refused: 0, codes \[\]", times)
    assert spread is not None
    assert 0 < float(spread[1]) <= float(spread[2]) <= 1000 * seconds
    (none,) = await printed("load_test.py", gateway.base, "--users", "2", "--seconds", "0")
    assert none.startswith("0 chats by 2 users")


async def test_a_webhook_receiver_takes_what_is_signed_and_nothing_else(gateway: GatewayProcess) -> None:
    async with AsyncParley(gateway.base) as client, aiohttp.ClientSession() as http:
        await client.users.create("faraday", PASSWORD)
        await client.log_on("faraday", PASSWORD)
        key = (await client.keys.create("receiver")).key
        running = await started("webhook_receiver.py", gateway.base, PARLEY_API_KEY=key, PORT="0")
        begun = (await running.out.readline()).decode()
        receiving = re.fullmatch(r"Receiving on (http://127\.0\.0\.1:\d+/)\n", begun)
        assert receiving is not None
        assert await running.out.readline() == b"webhook.test: {'greeting': 'Hello'}\n"
        forged = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        async with http.post(receiving[1], json={"type": "webhook.test"}, headers=forged) as answer:
            assert answer.status == 400
        assert await running.out.readline() == b"Refused: the signature is not of this secret and body\n"
        port = int(receiving[1].rpartition(":")[2].rstrip("/"))
        for length in (b"", b"Content-Length: many\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + length + b"\r\n")
            assert (await reader.readline()).split()[1] == b"400"
            assert await running.out.readline() == b"Refused: the delivery has no signature\n"
            writer.close()
        await client.agents.create("voltage", "Measures")
        assert (await running.out.readline()).startswith(b"agent.deployment.created: {")
        assert len(await client.webhooks.list()) == 1
        running.process.send_signal(signal.SIGINT)
        status, _, err = await running.communicate()
        assert (status, err) == (0, b"")
        assert await client.webhooks.list() == ()
