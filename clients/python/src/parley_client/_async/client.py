"""The client: a gateway's address, a credential, and the groups of services."""

from types import TracebackType
from typing import Any, Self

import httpx2

from parley_client._async.admin import AsyncAdmin
from parley_client._async.agents import AsyncAgents
from parley_client._async.banks import AsyncBanks
from parley_client._async.conversations import AsyncConversations
from parley_client._async.documents import AsyncDocuments
from parley_client._async.domains import AsyncDomains
from parley_client._async.event_stream import AsyncEventStream
from parley_client._async.figure_stream import AsyncFigureStream
from parley_client._async.gateway import AsyncGateway
from parley_client._async.keys import AsyncKeys
from parley_client._async.runs import AsyncRuns
from parley_client._async.streams import AsyncChatStream, AsyncZoneStream
from parley_client._async.transport import EVENT_STREAM, AsyncTransport
from parley_client._async.users import AsyncUsers
from parley_client._async.webhook_endpoints import AsyncWebhookEndpoints
from parley_client._async.zones import AsyncZones
from parley_client._repeating import CHAT_S, ONCE, Call, Repeats
from parley_client._services import PUBLIC, READING
from parley_client._settings import (
    HEADERS,
    check_limits,
    connections,
    idempotency_key_of,
    key_of,
    secret_of,
    tls,
    url_of,
)
from parley_client.answers import Answer, answer_of
from parley_client.errors import InvalidSetting
from parley_client.records import Session


class AsyncParley:
    """A client of one gateway, as one user.

    Args:
        url: the gateway's address; PARLEY_URL, else http://127.0.0.1:8000, where absent.
        key: an API key or a session token; PARLEY_API_KEY where absent, none where empty.
        brand: the gateway's brand, a segment of its paths.
        timeout: seconds that the gateway may be silent; a chat may take 310.
        tries: how often a call is tried, if it may be.
        max_wait: the longest Retry-After in seconds for which a call waits; beyond it the refusal is raised.
        internal_secret: the gateway's INTERNAL_SECRET; `admin` sends it in place of the key, and
            `users.create` with the name of an operator.
        http: an httpx2 client to use, for proxies or certificates of one's own; it may serve several clients, and is
            closed with the first of them that is closed. Without it, HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY,
            SSL_CERT_FILE and SSL_CERT_DIR hold.

    Raises:
        InvalidSetting: the address, the key, the internal secret, the timeout, the number of tries, or a proxy or
            certificates of the environment can't be right.

    Example:
        async with AsyncParley("http://127.0.0.1:8000", "plk_...") as client:
            message, reply = await client.agents.chat("Hello!", agent="scout")
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        brand: str = "Svc",
        timeout: float = 60.0,
        tries: int = 5,
        max_wait: float = 60.0,
        internal_secret: str | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        address, self._key, self._internal_secret = url_of(url), key_of(key), secret_of(internal_secret)
        check_limits(timeout, tries)
        http = http or connections(lambda: httpx2.AsyncClient(verify=tls(address), headers=HEADERS))
        self._brand = brand
        self._bus = f"/demo/v1/{brand}/tps"
        self._timeout = timeout
        self._chat_timeout = max(timeout, CHAT_S)
        self._is_derived = False
        self._transport = AsyncTransport(http, address, Repeats(tries, max_wait))
        self.users: AsyncUsers = AsyncUsers(self)
        self.agents: AsyncAgents = AsyncAgents(self)
        self.domains: AsyncDomains = AsyncDomains(self)
        self.zones: AsyncZones = AsyncZones(self)
        self.banks: AsyncBanks = AsyncBanks(self)
        self.conversations: AsyncConversations = AsyncConversations(self)
        self.runs: AsyncRuns = AsyncRuns(self)
        self.keys: AsyncKeys = AsyncKeys(self)
        self.webhooks: AsyncWebhookEndpoints = AsyncWebhookEndpoints(self)
        self.documents: AsyncDocuments = AsyncDocuments(self)
        self.admin: AsyncAdmin = AsyncAdmin(self)
        self.gateway: AsyncGateway = AsyncGateway(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """The gateway's address."""
        return self._transport.address

    async def close(self) -> None:
        """Close the connections; who waits for a stream gets NoConnection at once, and for a call once that has ended.

        A client of `with_options` leaves the connections to the one that it was made from.
        """
        if not self._is_derived:
            await self._transport.close()

    def with_options(
        self, *, timeout: float | None = None, tries: int | None = None, max_wait: float | None = None
    ) -> Self:
        """Return a client with other settings for some calls; it shares the connections and has the same credential.

        Args:
            timeout: seconds that the gateway may be silent, in a chat, too; a followed stream keeps its own.
            tries: how often a call is tried, if it may be.
            max_wait: the longest Retry-After in seconds for which a call waits.

        Raises:
            InvalidSetting: the timeout is not above 0, or there is no try.

        Example:
            await client.with_options(timeout=20, tries=2).agents.chat("Hello!", agent="scout")
        """
        repeats = self._transport.repeats
        made = type(self)(
            self.url,
            self._key or "",  # not PARLEY_API_KEY's, where there is none
            brand=self._brand,
            timeout=self._timeout if timeout is None else timeout,
            tries=repeats.tries if tries is None else tries,
            max_wait=repeats.max_wait if max_wait is None else max_wait,
            internal_secret=self._internal_secret,
            http=self._transport.http,
        )
        made._chat_timeout = self._chat_timeout if timeout is None else timeout
        made._is_derived = True
        return made

    async def log_on(self, user: str, secret: str) -> Session:
        """Open a session with a name and a password, and use it from now on.

        Example:
            await client.log_on("lovelace", "correct horse battery")

        Raises:
            AccessError: wrong user name or password (2002).
        """
        session, token = await self.users.log_on(user, secret)
        self._key = token.token
        return session

    async def send(self, service: str, body: dict[str, Any], *, idempotency_key: str | None = None) -> Answer:
        """Send a command to the bus, with all its tries, and return the whole answer.

        Args:
            service: the command's name, such as `AP_Chat`.
            body: the members of the request but `service`.
            idempotency_key: the key under which it is carried out once; one is made where absent.

        Example:
            await client.send("AP_Read", {"target": {"agent": "scout"}})

        Raises:
            Refused: the gateway answered with an error.
            NoConnection: no whole answer arrived.
            InvalidSetting: the body names another service.
        """
        call = self._command(service, body, idempotency_key)
        return answer_of(*await self._transport.send(call))

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        idempotency_key: str | None = None,
        repeatable: bool | None = None,
    ) -> Any:
        """Send a request to a gateway route, such as GET /api/health, and return its decoded body.

        A POST gets an Idempotency-Key; other methods are repeated unless `repeatable` is False.

        Example:
            await client.request("GET", "/api/audit")

        Raises:
            Refused: the gateway answered with an error.
            NoConnection: no whole answer arrived.
        """
        headers = self._admission(path)
        if method == "POST" and "Authorization" in headers:
            headers["Idempotency-Key"] = idempotency_key_of(idempotency_key)
        if repeatable is None:
            repeatable = method != "POST" or "Idempotency-Key" in headers
        answered, _ = await self._transport.send(Call(method, path, body, headers, repeatable, self._timeout))
        return answered

    def stream_chat(self, body: dict[str, Any], *, idempotency_key: str | None = None) -> AsyncChatStream:
        """Return a streamed AP_Chat, which begins when it is iterated.

        Example:
            async for text in client.stream_chat({"content": "Hello!"}).text():
                print(text, end="", flush=True)
        """
        call = self._command("AP_Chat", body, idempotency_key, {"Accept": EVENT_STREAM})
        return AsyncChatStream(self._transport, call, self._run_events)

    def stream_zone(self, body: dict[str, Any], *, after: str | None = None) -> AsyncZoneStream:
        """Return a followed zone, which begins when it is iterated.

        Example:
            async for event in client.stream_zone({"target": {"domain": "observatory"}}):
                print(event)
        """
        return AsyncZoneStream(self._transport, self._command("ZN_Stream", body, None), after)

    def stream_events(self, path: str, *, after: str | None = None) -> AsyncEventStream:
        """Return a stream of own events, which begins when it is iterated.

        Example:
            async for item in client.stream_events("/api/webhooks/stream"):
                print(item)
        """
        call = Call("GET", path, None, self._credential(), True, self._timeout)
        return AsyncEventStream(self._transport, call, after)

    def stream_figures(self) -> AsyncFigureStream:
        """Return the stream of the gateway's figures, which begins when it is iterated.

        Example:
            async for figures in client.stream_figures():
                print(figures.requests_s)
                break
        """
        path = "/debug/stream"
        return AsyncFigureStream(self._transport, Call("GET", path, None, self._admission(path), True, self._timeout))

    def _run_events(self, run: str) -> Call:
        return Call("GET", f"/api/runs/{run}/events", None, self._credential(), True, self._timeout)

    def _command(self, service: str, body: dict[str, Any], key: str | None, more: dict[str, str] | None = None) -> Call:
        if body.get("service", service) != service:  # it would be sent with the headers of another one
            raise InvalidSetting(f"the body of {service} names another service: {body['service']}")
        headers = ({} if service in PUBLIC else self._credential()) | (more or {})
        if service == "US_Create" and self._internal_secret is not None:  # the name may be an operator's
            headers["X-Internal-Secret"] = self._internal_secret
        if "Authorization" in headers and service not in READING:
            headers["Idempotency-Key"] = idempotency_key_of(key)
        repeatable = service in READING or ("Idempotency-Key" in headers and service not in ONCE)
        timeout = self._chat_timeout if service == "AP_Chat" else self._timeout
        return Call("POST", self._bus, {"service": service} | body, headers, repeatable, timeout)

    def _admission(self, path: str) -> dict[str, str]:
        """Return the headers that admit to a route: the internal secret, if there is one, to an operator's."""
        if self._internal_secret is not None and path.startswith(("/api/admin/", "/debug/")):
            return {"X-Internal-Secret": self._internal_secret}
        return self._credential()

    def _credential(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}
