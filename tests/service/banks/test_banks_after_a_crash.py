"""Banks after a crash: memories, attachments, censoring."""

from pathlib import Path

from tests.support.gateway import running
from tests.support.memories import attachments, load, memories, recalled, share
from tests.support.stored import erased


async def test_banks_and_what_may_be_done_in_them_outlive_a_crash(tmp_path: Path):
    async with running(tmp_path / "data") as gateway:
        async with gateway.client() as client:
            user, guest = await client.register("owner"), await client.register("guest")
            await user.agent("keeper")
            await guest.agent("visitor", access="public")
            (await user.command("MB_Create", vx={"name": "notes"})).ok()
            await share(user, guest, "notes", "visitor", "write")
            (await load(guest, "notes", "kept", "The word is xylophone.")).ok()
            (await load(user, "notes", "censored", "The word is glockenspiel.")).ok()
            (await user.command("MB_Censor", target={"bank": "notes"}, vx={"name": "censored"})).ok()
        await gateway.kill()
        await gateway.start()
        async with gateway.client() as client:
            user = await client.log_on("owner")
            assert await attachments(user, "notes") == {"keeper": "admin", "visitor": "write"}
            assert {name: kept["text"] for name, kept in (await memories(user, "notes")).items()} == {
                "kept": "The word is xylophone.",
                "censored": None,
            }
            assert await recalled(user, "notes", "xylophone glockenspiel") == ["kept"]
            await erased(gateway.data, "glockenspiel", within_s=60)
