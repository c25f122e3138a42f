"""Censored words: none is left in the files of the store."""

import pytest

from tests.support.gateway import Client, GatewayProcess
from tests.support.memories import load
from tests.support.stored import erased, traces


@pytest.fixture
def name(unique: str) -> str:
    """A bank name that no other test uses."""
    return f"{unique}-bank"


@pytest.fixture
async def bank(user: Client, unique: str, name: str) -> str:
    """A bank of the user with the selected agent `<unique>-keeper` as its admin."""
    await user.agent(f"{unique}-keeper")
    (await user.command("MB_Create", vx={"name": name, "description": "Notes"})).ok()
    return name


async def test_censored_words_are_gone_from_the_files(
    user: Client, bank: str, unique: str, sanic_server: GatewayProcess
):
    word = f"xylo{unique}phone"
    (await load(user, bank, "short", f"The secret is {word}.")).ok()
    (await load(user, bank, "long", f"{'A long text. ' * 900} The secret is {word}.")).ok()
    (await user.command("AP_Chat", content="What is the secret?")).ok()
    assert await traces(sanic_server.data, word)
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    await erased(sanic_server.data, word, within_s=60)
