"""A gateway with the scripted engine and a door of the tests; see tests/support/echo_door.py."""

from dataclasses import replace

from routes.app import HttpOptions
from tests.gateways.parts import serve
from tests.gateways.scripted import scripted
from tests.support.echo_door import ROUTES


def with_door(options: HttpOptions) -> HttpOptions:
    return replace(options, more_routes=ROUTES)


if __name__ == "__main__":
    serve(engine=scripted, http=with_door)
