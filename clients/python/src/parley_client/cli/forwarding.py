"""Forwarding of events to a receiver, byte for byte as a delivery has them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from parley_client import InvalidSetting, SignedEvent
from parley_client._settings import is_web_address
from parley_client.webhooks import signed_anew, signed_at

ANSWER_S = 15.0
"""Seconds that a receiver may take, as long as the gateway gives it."""

SIGNED_FOR_S = 60.0
"""Seconds after which an event is signed anew; receivers refuse signatures older than five minutes."""

PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds between the tries of an event that reaches nobody."""


def url_of(given: str) -> str:
    """Return the URL of a receiver: `http://` is put before one without a scheme.

    Raises:
        InvalidSetting: it is none.
    """
    url = given if "://" in given else f"http://{given}"
    if not is_web_address(url):
        raise InvalidSetting(f"the receiver's URL must be like http://127.0.0.1:3000/webhooks, not {given}")
    return url


@dataclass(frozen=True, slots=True)
class Forwarded:
    """The outcome of forwarding an event: the receiver's status, or the reason why there is none.

    Args:
        status: the receiver's HTTP status.
        ms: milliseconds of the last try.
        tries: how often it was tried.
        error: why no answer came.
    """

    status: int | None
    ms: float
    tries: int
    error: str | None = None

    def __str__(self) -> str:
        if self.status is None:
            return f"not received: {self.error}"
        return f"{self.status} {httpx2.codes.get_reason_phrase(self.status)}".strip() + f" in {self.ms:.0f} ms"


class Forwarder:
    """Posts events to one receiver, directly: no redirects, proxies or cookies, as the gateway does.

    Args:
        url: the receiver's URL.
        verify: whether the certificate of an https receiver is verified.
        on_pause: is called with the reason and the seconds of the pause, before an event is tried again.
    """

    def __init__(self, url: str, on_pause: Callable[[str, float], None], *, verify: bool = True) -> None:
        self.url = url
        self._on_pause = on_pause
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
        self._http = httpx2.Client(timeout=ANSWER_S, trust_env=False, verify=verify, cookies=no_cookies)
        self._is_away = False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def forward(self, event: SignedEvent, secret: str) -> Forwarded:
        """Post an event; one that reaches nobody is tried up to five times, and once while nobody has been there.

        Where it has waited for more than a minute, behind a slow receiver, it is signed anew with the stream's secret.
        """
        pauses = () if self._is_away else PAUSES_S
        tried = self._post(event, secret, 1)
        for number, pause in enumerate(pauses, 2):
            if not self._is_away:
                break
            self._on_pause(tried.error or "", pause)
            time.sleep(pause)
            tried = self._post(event, secret, number)
        return tried

    def _post(self, event: SignedEvent, secret: str, number: int) -> Forwarded:
        headers, now = dict(event.headers), time.time()
        if now - signed_at(headers) > SIGNED_FOR_S:
            headers = signed_anew(event.body, headers, secret, now)
        began = time.perf_counter()
        status, error = None, None
        try:
            with self._http.stream("POST", self.url, content=event.body, headers=headers) as response:
                status = response.status_code
        except httpx2.ConnectError as raised:
            error = f"{self.url} can't be reached ({raised})"
        except httpx2.TimeoutException:
            error = f"{self.url} did not answer in {ANSWER_S:g} s"
        except httpx2.HTTPError as raised:
            error = f"{self.url} did not answer ({str(raised) or type(raised).__name__})"
        self._is_away = error is not None
        return Forwarded(status, round((time.perf_counter() - began) * 1000, 1), number, error)
