"""Offers of banks after a crash."""

from pathlib import Path

from tests.support.gateway import running
from tests.support.sharing import Two


async def test_offers_outlive_a_crash(tmp_path: Path):
    async with running(tmp_path / "data") as gateway:
        async with gateway.client() as client:
            two = Two(await client.register("owner"), await client.register("guest"), "the")
            await two.owner.agent(two.keeper)
            await two.guest.agent(two.visitor, access="public")
            (await two.owner.command("MB_Create", vx={"name": two.bank})).ok()
            await two.share("read")
            (await two.give("write")).ok()
        await gateway.kill()
        await gateway.start()
        async with gateway.client() as client:
            two = Two(await client.log_on("owner"), await client.log_on("guest"), "the")
            assert await two.standing() == {"attached": "read", "offered": "write"}
            assert [offer["permission"] for offer in await two.offers()] == ["write"]
            (await two.accept()).ok()
            assert await two.standing() == {"attached": "write"}
