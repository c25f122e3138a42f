"""The Sanic application with all its routes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from sanic import Sanic
from sanic.config import Config

from actors.core import Core
from routes.bus.bus import CommandBus
from routes.console.pages import console_pages
from routes.console.session import ConsoleSession
from routes.gateway.all_nodes import SUBJECT as LOOK
from routes.gateway.all_nodes import answers_of
from routes.gateway.debug import QUESTIONS
from routes.gateway.fast import FastRoutes
from routes.gateway.live import QUESTION as SAMPLE
from routes.gateway.live import Live
from routes.gateway.route import Route
from routes.gateway.serve import GatewayRoutes, refused_below
from routes.gateway.table import ROUTES
from routes.http.access_log import AccessLog
from routes.http.addresses import Network
from routes.http.answers import identify
from routes.http.background import BackgroundTasks
from routes.http.bodies import drop_body
from routes.http.connections import Connections
from routes.http.cors import VARIES, Cors
from routes.http.errors import ErrorHandler
from routes.http.exchange import Exchange
from routes.http.internal_auth import InternalAuth
from routes.http.loop_lag import LoopLag
from routes.http.metrics import RequestMetrics
from routes.http.ready_answers import ReadyAnswers
from routes.http.router import GetAndHead
from routes.mcp.server import McpServer
from routes.openapi.document import openapi_blueprint
from routes.pages.docs import docs_blueprint
from routes.pages.health import health_blueprint
from routes.pages.metrics_page import metrics_blueprint
from routes.pages.welcome import welcome_assets, welcome_blueprint

HEAD_BYTES = 16_384
"""Accepted size of a request's head, also where the limit of bodies is smaller."""

CORS_PATHS = ("/v1", "/a2a", "/ag-ui")
"""The paths beside the bus that pages of PARLEY_CORS_ORIGINS may call."""

App = Sanic[Config, Any]


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """HTTP options of the operator; see the settings of the same names. Times are in seconds."""

    version: str
    brand: str = "Svc"
    host: str = "127.0.0.1"
    internal_secret: str | None = None
    dev_mocks_enabled: bool = False
    max_body_bytes: int = 1_048_576
    trusted_proxies: Sequence[Network] = ()
    connections_per_address: int = 0
    public_url: str | None = None
    cors_origins: Sequence[str] = ()
    console_enabled: bool = True
    request_timeout_s: int = 20
    response_timeout_s: int = 330
    keep_alive_timeout_s: int = 75
    more_routes: Sequence[Route] = ()
    """Further routes, for tests."""

    def serves(self, route: Route) -> bool:
        """Return whether the gateway has a route of the table."""
        return (self.dev_mocks_enabled or not route.mock) and (self.console_enabled or route.tag != "Console")


def build_app(core: Core, options: HttpOptions, access_log: AccessLog) -> App:
    """Build the application over a started core."""
    served = tuple(filter(options.serves, (*ROUTES, *options.more_routes)))
    doors = tuple({route.door: None for route in served if route.door is not None})
    bus_path = f"/demo/v1/{options.brand}/tps"
    config = Config(env_prefix="")  # only our settings count
    config.AUTO_EXTEND = False  # sanic-ext makes a request take 1.7 times as long
    config.ACCESS_LOG = False
    config.MOTD = False
    config.REQUEST_MAX_SIZE = max(options.max_body_bytes, HEAD_BYTES)  # it also limits the head
    config.REQUEST_TIMEOUT = options.request_timeout_s
    config.RESPONSE_TIMEOUT = options.response_timeout_s
    config.KEEP_ALIVE_TIMEOUT = options.keep_alive_timeout_s
    app = Sanic(
        "parley",
        config=config,
        loads=orjson.loads,
        dumps=orjson.dumps,
        configure_logging=False,
        router=GetAndHead(),
        error_handler=ErrorHandler(bus_path, partial(refused_below, doors)),
    )
    requests = RequestMetrics()
    lag = LoopLag()
    work = BackgroundTasks()
    app.ctx.work = work
    app.ctx.ready_answers = ReadyAnswers()
    connections = Connections(options.connections_per_address, options.trusted_proxies)
    app.ctx.connections = connections
    limit, public_url = options.max_body_bytes, options.public_url
    exchange = Exchange(
        core,
        requests,
        access_log,
        options.trusted_proxies,
        limit,
        work,
        public_url,
        takes_cookie=options.console_enabled,
    )
    app.ctx.varies = VARIES if options.cors_origins else ""
    if options.cors_origins:
        cors = Cors(options.cors_origins, (bus_path, *CORS_PATHS))
        untyped: Any = app
        untyped.on_request(cors.preflight)
        untyped.on_response(cors.mark)
    internal_auth = InternalAuth(options.internal_secret)
    bus = CommandBus(exchange, internal_auth)
    app.ctx.bus = bus
    app.blueprint(bus.blueprint(options.brand))
    live = Live(core, requests, lag)
    gateway = GatewayRoutes(exchange, internal_auth, live)
    app.blueprint(gateway.blueprint(served))
    app.ctx.fast_routes = FastRoutes(exchange, gateway, served)
    mcp = McpServer(exchange, bus, (options.host,), options.version, public_url)
    if core.cluster is not None:
        from routes.forwarding.mcp_sessions import share_sessions  # noqa: PLC0415
        from routes.forwarding.serving import forward  # noqa: PLC0415 - a single node needs nothing of it

        forward(core.cluster, exchange, bus, gateway, served)
        share_sessions(mcp.sessions, core.cluster.ownership, core.cluster.post)
        core.cluster.post.serve(LOOK, answers_of(core, {**QUESTIONS, SAMPLE: live.here}))
    app.blueprint(mcp.blueprint())
    if options.console_enabled:
        app.blueprint(ConsoleSession(exchange, bus, options.version, bus_path).blueprint())
    pages: tuple[Any, ...] = (
        health_blueprint(core, options.version),
        metrics_blueprint(core, requests, connections, lag, live),
        openapi_blueprint(options.brand),
        docs_blueprint(welcome_assets(), console=options.console_enabled),
        welcome_blueprint(options.version, options.brand, console=options.console_enabled),
        *((console_pages(),) if options.console_enabled else ()),
    )
    for blueprint in pages:
        blueprint.on_request(drop_body)
        blueprint.on_response(identify)
        app.blueprint(blueprint)
    return app
