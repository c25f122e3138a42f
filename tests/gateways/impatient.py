"""The scripted gateway with time-outs of TEST_TIMEOUT_S seconds for arriving requests and idle connections.

So it has for clients that don't read. Its streams are silent for a tenth of a second at most.
"""

import os
from dataclasses import replace

from routes.app import HttpOptions
from routes.http import server_sent_events, slow_reader
from tests.gateways.parts import serve
from tests.gateways.scripted import scripted


def impatient(options: HttpOptions) -> HttpOptions:
    seconds = int(os.environ["TEST_TIMEOUT_S"])
    return replace(options, request_timeout_s=seconds, keep_alive_timeout_s=seconds)


if __name__ == "__main__":
    server_sent_events.SILENT_S = 0.1
    slow_reader.WAIT_S = float(os.environ["TEST_TIMEOUT_S"])
    serve(engine=scripted, http=impatient)
