"""The scripted gateway with time-outs of one second for arriving requests and idle connections."""

from dataclasses import replace

from routes.app import HttpOptions
from tests.gateways.parts import serve
from tests.gateways.scripted import scripted


def impatient(options: HttpOptions) -> HttpOptions:
    return replace(options, request_timeout_s=1, keep_alive_timeout_s=1)


if __name__ == "__main__":
    serve(engine=scripted, http=impatient)
