"""Chats in which something is corrected, or to be forgotten."""

from actors.engines import dialogue_acts
from tests.support.gateway import Client


async def test_a_request_to_forget_is_answered_truthfully_and_a_correction_quoted_first(user: Client, unique: str):
    await user.agent(f"{unique}-agent")

    async def said(text: str) -> tuple[str, list[str]]:
        _, reply = (await user.command("AP_Chat", content=text)).ok().content
        return reply["content"], [source["quote"] for source in reply["sources"]]

    await said("The gate code is 4471.")
    assert await said("Forget the gate code") == (dialogue_acts.CANNOT_FORGET, [])
    assert (await said("What is the gate code?"))[1] == ["The gate code is 4471."]
    await said("Sorry, it's 4417.")
    assert (await said("What is the gate code?"))[1] == ["Sorry, it's 4417.", "The gate code is 4471."]
