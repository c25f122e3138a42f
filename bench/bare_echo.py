"""The yardstick: a Sanic server that only echoes JSON bodies. Run it as `python -m bench.bare_echo`."""

import socket
from typing import Any

import orjson
from sanic import HTTPResponse, Request, Sanic
from sanic.config import Config

PATH = "/demo/v1/Svc/tps"
"""The path of the gateway's command bus, so that both servers take the same requests."""


def build_app() -> Sanic[Config, Any]:
    """Return an application that parses a body and sends it back."""
    config = Config()
    config.AUTO_EXTEND = False
    config.ACCESS_LOG = False
    config.MOTD = False
    app: Sanic[Config, Any] = Sanic("bare", config=config, loads=orjson.loads, configure_logging=False)

    @app.post(PATH)
    async def echo(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        return HTTPResponse(orjson.dumps(request.json), content_type="application/json")

    return app


def main() -> None:
    """Serve on a free port of loopback, in this process, until SIGINT or SIGTERM."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    app = build_app()

    @app.after_server_start
    async def announce(_: object) -> None:  # pyright: ignore[reportUnusedFunction]
        print(f"bare echo listens on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)

    app.run(sock=listener, single_process=True, access_log=False, motd=False)  # pyright: ignore[reportUnknownMemberType]


if __name__ == "__main__":
    main()
