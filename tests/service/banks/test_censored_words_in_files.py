"""Censored words: none is left in the files of the store."""

from tests.support.gateway import Client, GatewayProcess
from tests.support.memories import load, made_bank
from tests.support.stored import erased, traces


async def test_censored_words_are_gone_from_the_files(user: Client, unique: str, sanic_server: GatewayProcess):
    bank, word = await made_bank(user, unique), f"xylo{unique}phone"
    (await load(user, bank, "short", f"The secret is {word}.")).ok()
    (await load(user, bank, "long", f"{'A long text. ' * 900} The secret is {word}.")).ok()
    (await user.command("AP_Chat", content="What is the secret?")).ok()
    assert await traces(sanic_server.data, word)
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    await erased(sanic_server.data, word, within_s=60)
