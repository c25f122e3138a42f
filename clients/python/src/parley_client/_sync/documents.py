# Made by `make client` from parley_client/_async: don't edit.
"""Documents, which are split into parts before a bank loads them."""

import time
from collections.abc import Mapping
from typing import Any, Literal

from parley_client._decoding import decode
from parley_client._sync.pages import Pages
from parley_client._sync.requests import Routes, query_of, segment_of
from parley_client._waiting import sleep
from parley_client.answers import Page, page_of
from parley_client.records import IngestedDocument

LOOK_S = 0.25
LONGEST_LOOK_S = 2.0
"""Seconds between two looks at a document that is not ready."""


class Documents(Routes):
    """Documents of up to 500,000 characters; `client.banks.load(bank, name)` loads one that is ready by its name."""

    def create(
        self,
        name: str,
        content: str,
        *,
        media_type: Literal["text/plain", "text/markdown", "application/json", "text/html"] | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> IngestedDocument:
        """Hand in a document; a newer one of a name takes the place of the older.

        Args:
            name: its name for MB_Load, 1 to 200 characters.
            content: its text.
            media_type: text/plain where absent.
            metadata: your own notes on it.
            idempotency_key: the key under which it is done once; one is made where absent.

        Example:
            client.documents.create("Observing plan", "Jupiter rises at nine.")
        """
        given = {"media_type": media_type, "metadata": metadata}
        body = {"name": name, "content": content} | {key: value for key, value in given.items() if value is not None}
        made = self._client.request("POST", "/api/documents", body, idempotency_key=idempotency_key)
        return decode(IngestedDocument, made)

    def read(self, document: str) -> IngestedDocument:
        """Read a document's state; `document` is its id, `doc_...`.

        Example:
            client.documents.read("doc_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is none, or a newer one has taken its place (3000).
        """
        return decode(IngestedDocument, self._client.request("GET", f"/api/documents/{segment_of(document)}"))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[IngestedDocument, None]:
        """List documents by name.

        Args:
            limit: the largest number on a page.
            cursor: `next` of the page before, unchanged; the first page when absent.

        Example:
            [document for document in client.documents.list()]
        """

        def read(cursor: str | None) -> Page[IngestedDocument, None]:
            page = self._client.request("GET", f"/api/documents{query_of(limit=limit, cursor=cursor)}")
            return page_of(IngestedDocument, page, "documents")

        return Pages(read, cursor)

    def delete(self, document: str) -> None:
        """Remove a document for good; what banks have loaded of it stays. `document` is its id, `doc_...`.

        Example:
            client.documents.delete("doc_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is none, or a newer one has taken its place (3000).
        """
        self._client.request("DELETE", f"/api/documents/{segment_of(document)}")

    def wait(self, document: str, *, timeout: float = 300.0) -> IngestedDocument:
        """Wait until a document is ready or has failed; its `status` and `error` tell.

        Example:
            client.documents.wait("doc_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            TimeoutError: it was neither in time.
        """
        until, pause = time.monotonic() + timeout, LOOK_S
        while True:
            found = self.read(document)
            if found.status in ("ready", "failed"):
                return found
            if time.monotonic() + pause > until:
                raise TimeoutError(f"the document {document} is still {found.status} after {timeout:g} s")
            sleep(pause)
            pause = min(LONGEST_LOOK_S, pause * 1.5)
