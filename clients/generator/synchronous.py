"""The synchronous half of the client, made from the asynchronous one by unasync."""

import shutil
import tempfile
from pathlib import Path

import unasync

NAMES = {
    "AsyncParley": "Parley",
    "AsyncTransport": "Transport",
    "AsyncPages": "Pages",
    "AsyncReader": "Reader",
    "AsyncSender": "Sender",
    "AsyncServices": "Services",
    "AsyncRequester": "Requester",
    "AsyncRoutes": "Routes",
    "AsyncChatStream": "ChatStream",
    "AsyncZoneStream": "ZoneStream",
    "AsyncClosable": "Closable",
    "AsyncLine": "Line",
    "AsyncBell": "Bell",
    "AsyncFollowed": "Followed",
    "AsyncEventStream": "EventStream",
    "AsyncFigureStream": "FigureStream",
    "AsyncAdmin": "Admin",
    "AsyncDocuments": "Documents",
    "AsyncRuns": "Runs",
    "AsyncKeys": "Keys",
    "AsyncWebhookEndpoints": "WebhookEndpoints",
    "AsyncGateway": "Gateway",
    "AsyncUsers": "Users",
    "AsyncAgents": "Agents",
    "AsyncDomains": "Domains",
    "AsyncZones": "Zones",
    "AsyncBanks": "Banks",
    "AsyncConversations": "Conversations",
    "AsyncClient": "Client",
    "aclose": "close",
    "aread": "read",
    "aiter_bytes": "iter_bytes",
    "async_sleep": "sleep",
    "async_home": "home",
    "async_hang_up": "hang_up",
    "_async_waiting": "_waiting",
    "_async": "_sync",
}
"""Names that differ between the two, beyond those that unasync knows."""

IN_TEXTS = (
    ("async for ", "for "),
    ("async with AsyncParley(", "with Parley("),
    ("await client.", "client."),
    ("The asynchronous client; parley_client/_sync is made from it.", "The synchronous client."),
)
"""Replacements in docstrings, which unasync leaves alone."""


def synchronous(modules: dict[str, str]) -> dict[str, str]:
    """Return the synchronous modules of asynchronous ones, by file name."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "_async", Path(folder) / "_sync"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        for name, text in modules.items():
            (source / name).write_text(text, encoding="utf-8")
        rule = unasync.Rule("/_async/", "/_sync/", additional_replacements=NAMES)
        unasync.unasync_files([str(source / name) for name in modules], [rule])
        return {name: _texts((made / name).read_text(encoding="utf-8")) for name in modules}


def _texts(text: str) -> str:
    for before, after in IN_TEXTS:
        text = text.replace(before, after)
    if text.startswith("# Made by"):
        text = text.partition("\n")[2]
    return f"# Made by `make client` from parley_client/_async: don't edit.\n{text}"
