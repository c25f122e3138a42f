"""Reading the audit log."""

from actors.calls.call import Call
from actors.errors import NeedsPlan
from actors.plans import PLANS
from actors.users.messages import USER, ReadUser
from persistence import audit
from persistence.audit import AuditRow


async def read(call: Call, since: int, service: str | None, before: int, limit: int) -> list[AuditRow]:
    """Read a page of the caller's audit log, newest first; one entry beyond `limit` if there is another page.

    Raises:
        NeedsPlan: the plan has no audit log.
    """
    user = await call.ask(USER, call.user.user_id, ReadUser())
    if not PLANS[user.plan].audited:
        raise NeedsPlan("The audit log is for the plans scale and enterprise; ask the operator for one of them.")
    return await call.core.store.fetch(audit.page(user.id, since, service, before, limit + 1))
