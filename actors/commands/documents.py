"""Documents: queueing them for ingestion, reading their status, and removing them."""

from collections.abc import Callable
from typing import Any

from actors.banks.messages import ALL_MEMORIES
from actors.calls.call import A, Call
from actors.calls.paging import name_after, page_by_name
from actors.errors import InvalidField, StateConflict
from actors.library.messages import LIBRARY, AddDocument, RemoveDocument, no_such_document
from actors.library.records import document_record
from actors.wire import Record
from persistence import documents
from persistence.documents import DocumentRow


async def add(
    call: Call,
    name: str,
    content: str,
    media_type: str,
    metadata: dict[str, Any] | None,
    answer: Callable[[DocumentRow], A],
) -> A:
    """Queue a document, replacing the caller's document of that name.

    Raises:
        InvalidField: MB_Load could not load it under that name.
    """
    if name == ALL_MEMORIES:
        raise InvalidField(f"Invalid value of name: to MB_Load `{ALL_MEMORIES}` means all memories; take another name.")
    message = AddDocument(name, content, media_type, metadata)
    accepted = await call.carry_out(LIBRARY, call.user.user_id, message, answer)
    call.core.ingestion.wake()
    return accepted


async def read(call: Call, document_id: str) -> Record:
    """Return the record of a document.

    Raises:
        NotFound: it does not exist, or is another user's.
    """
    found = await call.core.store.fetch(documents.by_id(call.user.user_id, document_id))
    if not found:
        raise no_such_document()
    return document_record(found[0])


async def list_documents(call: Call, cursor: str | None, limit: int) -> tuple[list[Record], str | None]:
    """List the caller's documents by name; and the cursor of the next page.

    Raises:
        InvalidField: the list made no such cursor.
    """
    query = documents.listed(call.user.user_id, name_after(cursor), limit + 1)
    page, following = page_by_name(await call.core.store.fetch(query), limit, lambda row: row.name)
    return [document_record(row) for row in page], following


async def remove(call: Call, document_id: str, answer: Callable[[None], A]) -> A:
    """Remove a document for good; what banks have loaded of it stays.

    Raises:
        NotFound: it does not exist, or is another user's.
    """
    removed = await call.carry_out(LIBRARY, call.user.user_id, RemoveDocument(document_id), answer)
    call.core.erasure.wake()
    return removed


async def ingested(call: Call, name: str) -> tuple[DocumentRow, list[str]] | None:
    """Read the caller's document of a name with the texts of its parts; None if there is none.

    Raises:
        StateConflict: it is not ready, or a part was censored.
    """
    found = await call.core.store.fetch(documents.by_name(call.user.user_id, name))
    if not found:
        return None
    document = found[0]
    if document.status == "failed":
        raise StateConflict(f"The document {name[:80]!r} could not be ingested: {document.error}. Send it anew.")
    if document.status != "ready":
        raise StateConflict(
            f"The document {name[:80]!r} is not ready yet (it is {document.status}); look at GET /api/documents/"
            f"{document.id} and try again."
        )
    texts = await call.core.store.fetch(documents.parts_of(document.id))
    parts = [text for text in texts if text is not None]
    if document.erased or len(parts) < document.parts:
        raise StateConflict(f"A part of the document {name[:80]!r} was censored for good; send it anew without that.")
    return document, parts
