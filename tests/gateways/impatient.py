"""The scripted gateway, which waits a second for a request to arrive, and as long on an idle connection."""

import sys
from dataclasses import replace

import server
from config.settings import Settings
from routes.app import HttpOptions
from tests.gateways.scripted import ScriptedGateway

_http_options = server.http_options


def impatient(settings: Settings) -> HttpOptions:
    return replace(_http_options(settings), request_timeout_s=1, keep_alive_timeout_s=1)


if __name__ == "__main__":
    server.http_options = impatient
    server.Gateway = ScriptedGateway
    sys.exit(server.main())
