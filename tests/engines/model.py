"""A gateway with the engine `openai`, its bounds short, and a toolbox with a clock in it."""

import sys
from typing import Any

import server
from actors.agent import Engine
from actors.engines.completion import Limits
from actors.engines.openai import OpenAIEngine
from actors.engines.tools import ToolOffer
from actors.errors import EngineFailed
from actors.skills.book import StoredSkills
from config.settings import Settings
from persistence.store import Store

LIMITS = Limits(
    connect_s=1,
    first_token_s=1,
    idle_s=2,
    backoff_s=0.01,
    retry_after_cap_s=5,
    concurrent=8,
    tool_rounds=3,
    prompt_tokens=1_000,
)


class Clock:
    async def tools(self, user_id: str) -> list[ToolOffer]:
        takes = {"type": "object", "properties": {"zone": {"type": "string"}}}
        return [ToolOffer("clock.time", "Tells the time.", takes), ToolOffer("clock.broken", "Fails.", {})]

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        if name == "clock.broken":
            raise EngineFailed("The tool server clock failed.")
        return f"noon in {arguments.get('zone')}", False


def model_engine(settings: Settings, store: Store) -> Engine:
    assert settings.openai_base_url is not None
    assert settings.openai_model is not None
    assert settings.openai_api_key is not None
    key = settings.openai_api_key.get_secret_value()
    return OpenAIEngine(
        settings.openai_base_url,
        key,
        settings.openai_model,
        limits=LIMITS,
        toolbox=Clock(),
        skillbook=StoredSkills(store),
    )


if __name__ == "__main__":
    server.chat_engine = model_engine
    sys.exit(server.main())
