"""A receiver of webhooks that verifies signatures.

It listens on 127.0.0.1:9000, makes an endpoint for itself, asks for a test event, and prints what is delivered until
Ctrl-C. A request that the endpoint's secret did not sign is answered with 400.

    PARLEY_WEBHOOKS_ALLOW_INSECURE=true make run   # in one terminal: allows http, for development
    python examples/webhook_receiver.py            # in another, with `pip install ./clients/python`

PARLEY_URL names another gateway; PARLEY_API_KEY a user of your own (else it is a sandbox key's); PORT another port.
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from parley_client import BadSignature, Parley
from parley_client.webhooks import verify

handled: set[str] = set()
"""The ids of the events so far, because an event may be delivered again; a real receiver stores them."""


class Receiver(BaseHTTPRequestHandler):
    """Takes deliveries to the endpoint, whose secret is `secret`."""

    secret = ""

    def do_POST(self) -> None:
        """Verify a delivery, answer it, and print its event."""
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length) if length.isdecimal() else 0)
        try:
            event = verify(body, dict(self.headers), self.secret)
        except BadSignature as error:
            self.send_error(400)
            print(f"Refused: {error}", flush=True)
            return
        self.send_response(204)
        self.end_headers()
        if event["id"] not in handled:
            handled.add(event["id"])
            print(f"{event['type']}: {event['data']}", flush=True)

    def log_message(self, format: str, *args: object) -> None:
        """Print no line a request."""


with Parley() as visitor:
    key = os.environ.get("PARLEY_API_KEY") or visitor.keys.sandbox().key

server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
with server, Parley(key=key) as client:
    endpoint = client.webhooks.create(f"http://127.0.0.1:{server.server_port}/")
    Receiver.secret = endpoint.secret
    print(f"Receiving on {endpoint.url}", flush=True)
    try:
        client.webhooks.test("webhook.test", {"greeting": "Hello"})
        server.serve_forever()
    except KeyboardInterrupt:
        client.webhooks.delete(endpoint.id)
