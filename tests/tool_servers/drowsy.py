"""A gateway whose actors are passivated after a second without a message."""

import sys
from dataclasses import replace

import server
from actors.core import CoreOptions
from actors.egress.aiohttp_session import Outbound
from config.settings import Settings

_core_options = server.core_options


def drowsy(settings: Settings, outbound: Outbound | None = None, *, development_plan: bool = False) -> CoreOptions:
    return replace(_core_options(settings, outbound, development_plan=development_plan), idle_s=1.0)


if __name__ == "__main__":
    server.core_options = drowsy
    sys.exit(server.main())
