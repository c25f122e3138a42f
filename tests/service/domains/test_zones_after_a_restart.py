"""Zones after a restart: what was said, and the selection."""

from pathlib import Path

from tests.support.gateway import running
from tests.support.workspaces import opened, post, said_in


async def test_what_was_said_and_selected_survives_a_restart(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        owner, guest = await client.register("lovelace"), await client.register("babbage")
        workspace = await opened(owner, guest, "observatory")
        (await owner.command("ZN_Select", target={"domain": "observatory"})).ok()
        (await post(guest, "observatory", "The spare key is under the third stone.")).ok()
        await gateway.stop()
        await gateway.start()
        owner.base = guest.base = gateway.base
        answer = (await owner.command("AP_Chat", content="Where is the spare key?")).ok()
        assert "third stone" in answer.content[1]["content"]
        assert [seq for seq, *_ in await said_in(guest, workspace.domain)] == [1, 2, 3]
