"""The gateway without the quota step, for `bench/quota.py`."""

import sys

import server
from actors.calls.call import Call
from routes.bus import bus


async def admit(call: Call, credential: str | None) -> None:
    """Authenticate the caller like `actors.calls.admission.admit`, but count nothing."""
    call.sent_by(await call.core.credentials.authenticate(credential))


if __name__ == "__main__":
    bus.admit = admit
    sys.exit(server.main())
