"""Log-ons that may fail, credentials that may have ended, and addresses that no other test logs on from."""

import itertools

from tests.support.gateway import PASSWORD, Answer, Client

WRONG = "not the password"
OTHER = "another horse battery"
_addresses = (f"192.0.2.{number}" for number in itertools.count(10))


def elsewhere() -> dict[str, str]:
    """Return the headers of a caller at an address that no other test uses (a proxied gateway believes them)."""
    return {"X-Forwarded-For": next(_addresses)}


async def log_on(client: Client, name: str, secret: str = PASSWORD, **headers: str) -> Answer:
    """Try to log on; `headers` are the caller's."""
    return await client.command("US_LogOn", target={"user": name}, vx={"secret": secret}, headers=headers)


async def works(client: Client) -> bool:
    """Return whether a client's credential is accepted."""
    answer = await client.command("US_Read")
    assert answer.code in (0, 2001), answer.body
    return answer.code == 0
