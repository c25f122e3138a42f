"""Domains after a restart: memberships and selection."""

from pathlib import Path

from tests.support.gateway import running
from tests.support.workspaces import founded, move, standings


async def test_memberships_and_selection_survive_a_restart(tmp_path: Path, unique: str):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        user, guest = await client.register("lovelace"), await client.register("babbage")
        await user.agent("scout")
        await guest.agent("guest", access="public")
        await founded(user, "observatory")
        (await move(user, "DM_Invite", "observatory", "guest")).ok()
        (await user.command("DM_Select", target={"domain": "observatory"})).ok()
        await gateway.stop()
        await gateway.start()
        user.base = guest.base = gateway.base
        assert (await user.command("DM_Read")).ok().context["domain"] == "observatory"
        assert await standings(user, "observatory") == {"guest": "invited", "scout": "member"}
        (await move(guest, "DM_Join", "observatory", "guest")).ok()
        assert await standings(user, "observatory") == {"guest": "member", "scout": "member"}
