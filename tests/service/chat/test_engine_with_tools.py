"""The engine `openai` with the real toolbox: a model calls the user's built-in server `parley`."""

from pathlib import Path
from typing import Any

from tests.support.gateway import running
from tests.support.provider import calls, providing, says


async def test_a_model_recalls_from_a_bank_by_the_built_in_server_and_a_censoring_reaches_its_reply(tmp_path: Path):
    async with providing() as provider:
        settings: dict[str, Any] = {
            "PARLEY_CHAT_ENGINE": "openai",
            "PARLEY_OPENAI_BASE_URL": provider.base_url,
            "PARLEY_OPENAI_MODEL": "llama",
        }
        async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
            user = await client.register("ada-lovelace")
            await user.agent("scout")
            (await user.command("MB_Create", vx={"name": "notes"})).ok()
            load = {"target": {"bank": "notes"}, "vx": {"name": "Door"}, "content": "The code is quartz-7731."}
            (await user.command("MB_Load", **load)).ok()
            installed = await user.request(
                "POST", "/api/mcp/tools/install", json={"name": "parley", "server": "parley"}
            )
            assert installed.http == 201
            provider.on(
                "hello",
                calls(("parley__recall", '{"bank": "notes", "query": "code"}')),
                says("It is quartz-7731."),
            )
            (await user.command("AP_Chat", content="hello")).ok()
            first, second = provider.asked("hello")
            assert "parley__recall" in {tool["function"]["name"] for tool in first.body["tools"]}
            assert "quartz-7731" in second.body["messages"][-1]["content"], second.body["messages"][-1]
            (await user.command("MB_Censor", target={"bank": "notes"}, vx={"name": "*"})).ok()
            assert "quartz" not in str((await user.command("AP_History")).body)
