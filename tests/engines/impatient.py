"""The scripted gateway, which closes a connection that is idle for a second."""

import sys
from functools import partial

import server
from routes.app import HttpOptions
from tests.engines.scripted import ScriptedGateway

if __name__ == "__main__":
    server.HttpOptions = partial(HttpOptions, keep_alive_timeout_s=1)  # pyright: ignore[reportAttributeAccessIssue]
    server.Gateway = ScriptedGateway
    sys.exit(server.main())
