"""A gateway that waits a second for a request to arrive, not twenty."""

import sys
from dataclasses import replace

import server
from config.settings import Settings
from routes.app import HttpOptions

_http_options = server.http_options


def impatient(settings: Settings) -> HttpOptions:
    return replace(_http_options(settings), request_timeout_s=1)


if __name__ == "__main__":
    server.http_options = impatient
    sys.exit(server.main())
