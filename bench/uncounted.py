"""The gateway without the step that counts requests: what `bench/quota.py` compares it with."""

import sys

import server
from actors.calls.call import Call


async def admit(self: Call, credential: str | None) -> None:
    """Find out who sends it, as `Call.admit` does, and count nothing."""
    self.sent_by(await self.core.credentials.authenticate(credential))


if __name__ == "__main__":
    Call.admit = admit
    sys.exit(server.main())
