"""The official client of AG-UI, unchanged, against the running gateway (docs/ag-ui.md)."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.ag_ui import history, texts
from tests.support.gateway import Client
from tests.support.npm import installed, node

SOURCES = Path(__file__).parent / "client"
WHOLE_RUN = ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]


class FrontEnd:
    """A process that runs the official client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def do(self, step: str, **options: Any) -> dict[str, Any]:
        """Take a step (tests/service/ag_ui/client/talk.mjs); return what came of it."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(orjson.dumps({"step": step, **options}) + b"\n")
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        assert line, "the client has ended"
        return orjson.loads(line)


Open = Callable[[Client, str], Awaitable[FrontEnd]]


@pytest.fixture(scope="session")
def script() -> Path:
    """The client's program, with its packages beside it."""
    return installed(SOURCES) / "talk.mjs"


@pytest.fixture
async def front_end(script: Path) -> AsyncIterator[Open]:
    """Start front ends of users for agents; they end with the test."""
    program, begun = node(), list[asyncio.subprocess.Process]()

    async def open(user: Client, agent: str) -> FrontEnd:
        process = await asyncio.create_subprocess_exec(
            *(program, str(script), f"{user.base}/ag-ui/{agent}", user.token or ""),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**20,
            env=os.environ | {"NODE_NO_WARNINGS": "1"},
        )
        begun.append(process)
        return FrontEnd(process)

    yield open
    for process in begun:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_the_client_talks_with_its_own_ids_and_its_whole_history(user: Client, unique: str, front_end: Open):
    await user.agent(f"{unique}-agent", profile="The Moon is 384,400 km away.")
    page = await front_end(user, f"{unique}-agent")
    await page.do("open")
    first = await page.do("say", text="How far is the Moon?")
    second = await page.do("say", text="And how far is that in miles?")
    for run in (first, second):
        assert run["events"] == WHOLE_RUN
        assert [message["role"] for message in run["newMessages"]] == ["assistant"]
    assert "384,400" in first["newMessages"][0]["content"]
    shown = second["messages"]
    assert [message["role"] for message in shown] == ["user", "assistant", "user", "assistant"]
    read = (await user.command("AP_Read", target={"agent": f"{unique}-agent"})).ok().content[0]
    assert read["messages"] == 4, "the history that the client sends again is not stored again"


async def test_a_thread_of_parley_s_goes_on_in_the_client(user: Client, unique: str, front_end: Open):
    await user.agent(f"{unique}-agent")
    (await user.command("AP_Chat", content="On the bus")).ok()
    kept = (await user.command("AP_History")).ok().content
    page = await front_end(user, f"{unique}-agent")
    roles = {"user": "user", "agent": "assistant"}
    shown = [{"id": m["id"], "role": roles[m["role"]], "content": m["content"]} for m in kept]
    opened = await page.do("open", threadId=kept[0]["conversation"], messages=shown)
    assert opened == {"threadId": kept[0]["conversation"]}
    run = await page.do("say", text="In the client")
    assert texts(await history(user, kept[0]["conversation"])) == texts(run["messages"])
    assert run["messages"][-1]["id"] == (await user.command("AP_History")).ok().content[-1]["id"]


async def test_the_client_hears_of_errors_before_and_after_the_start(
    scripted_user: Client, unique: str, front_end: Open
):
    await scripted_user.agent(f"{unique}-agent")
    page = await front_end(scripted_user, f"{unique}-agent")
    await page.do("open")
    failed = await page.do("say", text="say:Begun fail")
    assert failed["events"] == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "RUN_ERROR"]
    (await scripted_user.command("AP_LogOff")).ok()
    refused = await page.do("say", text="say:Hello")
    assert (refused["events"], refused["status"]) == ([], 409)
    assert refused["payload"]["status"]["internal_code"] == 3002
    stranger = await front_end(scripted_user.as_user("pls_wrong"), f"{unique}-agent")
    await stranger.do("open")
    assert (await stranger.do("say", text="Hi"))["status"] == 401


async def test_an_answer_is_written_anew_in_a_fork(user: Client, unique: str, front_end: Open):
    await user.agent(f"{unique}-agent")
    page = await front_end(user, f"{unique}-agent")
    await page.do("open")
    await page.do("say", text="One")
    first = await page.do("say", text="Two")
    anew = await page.do("regenerate")
    assert anew["events"] == WHOLE_RUN
    assert anew["messages"][:3] == first["messages"][:3]
    assert anew["messages"][3]["id"] != first["messages"][3]["id"]
    on = await page.do("say", text="Three")
    listed = (await user.command("CV_List", target={"agent": f"{unique}-agent"})).ok().profile
    kept = [texts(await history(user, one["id"])) for one in listed]
    assert kept == [texts(on["messages"]), texts(first["messages"])]
