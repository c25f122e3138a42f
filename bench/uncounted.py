"""The gateway without the step that counts requests: what `bench/quota.py` compares it with."""

import sys

import server
from actors.calls.call import Call
from routes.bus import bus


async def admit(call: Call, credential: str | None) -> None:
    """Authenticate the caller, as `actors.calls.admission.admit` does, and count nothing."""
    call.sent_by(await call.core.credentials.authenticate(credential))


if __name__ == "__main__":
    bus.admit = admit
    sys.exit(server.main())
