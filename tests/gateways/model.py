"""A gateway with the engine `openai`, short limits, and a toolbox with a clock and a reader of banks."""

from typing import Any, NamedTuple

from actors.engines.openai.completion import Limits
from actors.engines.openai.engine import OpenAIEngine
from actors.engines.openai.tools import ToolAnswer
from actors.engines.turn import Engine
from actors.errors import EngineFailed
from actors.library.skillbook import StoredSkills
from config.settings import Settings
from persistence.store import Query, Store
from tests.gateways.parts import serve

LIMITS = Limits(
    connect_s=1,
    first_token_s=2,
    idle_s=3,
    backoff_s=0.01,
    retry_after_cap_s=5,
    concurrent=8,
    per_speaker=4,
    tool_rounds=3,
    prompt_tokens=1_000,
)


class Offer(NamedTuple):
    name: str
    description: str
    input_schema: dict[str, Any]


MEMORIES = "SELECT place, text FROM memories JOIN banks ON banks.id = bank_id WHERE owner_id = ? AND censored = 0"


class Tools:
    """Two tools: a clock, and a reader of all memories in the user's banks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def tools(self, user_id: str) -> list[Offer]:
        takes = {"type": "object", "properties": {"zone": {"type": "string"}}}
        return [
            Offer("clock.time", "Tells the time.", takes),
            Offer("clock.broken", "Fails.", {}),
            Offer("banks.read", "Reads.", takes),
        ]

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool] | ToolAnswer:
        if name == "banks.read":
            found = await self._store.fetch(Query(MEMORIES, (user_id,), lambda row: row))
            return ToolAnswer("; ".join(row[1] for row in found), quoted=tuple(row[0] for row in found))
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
        toolbox=Tools(store),
        skillbook=StoredSkills(store),
    )


if __name__ == "__main__":
    serve(engine=model_engine)
