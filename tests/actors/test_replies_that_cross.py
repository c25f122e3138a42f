"""What actors answer about rows of the store crosses to another node unchanged."""

from pathlib import Path
from typing import Any

from actors.agents.messages import AGENT, ReadAgent
from actors.banks.messages import BANK, BankViewer, ReadBank
from actors.core import Core
from actors.domains.messages import DOMAIN, DomainViewer, ReadDomain
from actors.quotas.messages import QUOTA, ReadQuota
from actors.runtime.cluster.wire import decode_reply, encode_reply
from actors.runtime.mailbox import Ask
from actors.sessions.messages import SESSION, ReadSession
from actors.users.messages import USER, ReadUser
from tests.support.in_process import commanded


async def crosses(core: Core, kind: str, key: str, message: Ask[Any]) -> None:
    reply = await core.directory.ask(kind, key, message)
    encoded = encode_reply(type(message), reply)
    assert encode_reply(type(message), decode_reply(type(message), encoded)) == encoded


async def test_replies_made_of_stored_rows_cross_to_another_node(tmp_path: Path):
    async with commanded(tmp_path) as gateway, gateway.client() as nobody:
        ada = await nobody.register("lovelace")
        agent = await ada.agent("scout")
        await ada.agent("keeper", online=False, select=False)
        domain = (await ada.command("DM_Create", vx={"name": "harbour", "description": "Boats"})).ok().profile[0]
        bank = (await ada.command("MB_Create", vx={"name": "logbook", "description": "What was"})).ok().profile[0]
        user = (await ada.command("US_Read")).ok().profile[0]
        sessions = [s.key for s in gateway.core.directory.statuses(SESSION)]
    async with commanded(tmp_path) as gateway:  # every actor is loaded from the store
        core, me = gateway.core, user["id"]
        await crosses(core, AGENT, agent["id"], ReadAgent(me))
        await crosses(core, DOMAIN, domain["id"], ReadDomain(DomainViewer(me)))
        await crosses(core, BANK, bank["id"], ReadBank(BankViewer(me)))
        await crosses(core, USER, me, ReadUser())
        await crosses(core, QUOTA, me, ReadQuota())
        for session in sessions:
            await crosses(core, SESSION, session, ReadSession())
