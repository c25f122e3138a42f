"""Documents: texts that users hand in, and MB_Load loads into banks."""

from http import HTTPStatus
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, StringConstraints

from actors.calls.request import BlankIsMissing, Body, RequiredReference
from actors.commands import documents
from actors.errors import InvalidField
from actors.library.records import document_record
from persistence.documents import DocumentRow
from routes.gateway.route import Query, Route, RouteCall, RouteReply
from routes.openapi.schemas import TIME, array, ident, nullable, number, record, ref, text

MAX_CHARS = 500_000
"""Maximum number of characters of a document."""

MAX_METADATA_BYTES = 4_096

MAX_CURSOR = 1_200
"""Maximum number of characters of a cursor, which holds a name of 200 characters, each of up to 4 bytes, in Base64."""

MediaType = Literal["text/plain", "text/markdown", "application/json", "text/html"]
_NO_NUL = r"^[^\x00]*$"

DOCUMENT = record(
    "A document that was handed in.",
    id=ident("doc"),
    name=text(),
    media_type=text(enum=["text/plain", "text/markdown", "application/json", "text/html"]),
    metadata=nullable({"type": "object"}),
    size=number("Number of characters as sent."),
    status=text(enum=["queued", "processing", "ready", "failed"]),
    error=nullable(text("Why it failed.")),
    parts=number("Number of memories that MB_Load makes of it; known once it is ready."),
    created_at=TIME,
    updated_at=TIME,
)


class Document(Body):
    """Body of a new document."""

    name: RequiredReference = Field(description="Its name for MB_Load, 1 to 200 characters.")
    content: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARS, pattern=_NO_NUL)], BlankIsMissing
    ] = Field(description="Its text, 1 to 500,000 characters.")
    media_type: Annotated[MediaType | None, BlankIsMissing] = Field(None, description="text/plain if absent.")
    metadata: dict[str, Any] | None = Field(None, description="Your own notes on it, up to 4,096 bytes of JSON.")


class DocumentsAsked(Query):
    """Query parameters of the list of documents."""

    limit: int = Field(50, ge=1, le=200, description="Documents on a page.")
    cursor: str | None = Field(None, max_length=MAX_CURSOR, description="`next` of the page before.")


async def add_document(request: RouteCall) -> RouteReply:
    """Store a document and queue it for ingestion."""
    sent: Document = request.body
    if sent.metadata is not None and len(orjson.dumps(sent.metadata)) > MAX_METADATA_BYTES:
        raise InvalidField(f"Invalid value of metadata: it is larger than {MAX_METADATA_BYTES:,} bytes as JSON.")
    if sent.media_type == "application/json":
        try:
            orjson.loads(sent.content)
        except orjson.JSONDecodeError as error:
            raise InvalidField(f"Invalid value of content: it is not JSON: {error}.") from None
    return await documents.add(
        request.call, sent.name, sent.content, sent.media_type or "text/plain", sent.metadata, _accepted
    )


def _accepted(document: DocumentRow) -> RouteReply:
    return RouteReply(document_record(document), HTTPStatus.ACCEPTED, shows=(document.id,))


async def list_documents(request: RouteCall) -> RouteReply:
    """List the caller's documents."""
    asked: DocumentsAsked = request.query
    found, following = await documents.list_documents(request.call, asked.cursor, asked.limit)
    return RouteReply({"documents": found, "next": following})


async def read_document(request: RouteCall) -> RouteReply:
    """Return the status of a document."""
    return RouteReply(await documents.read(request.call, request.params["id"]))


async def remove_document(request: RouteCall) -> RouteReply:
    """Remove one of the caller's documents."""
    return await documents.remove(request.call, request.params["id"], _removed)


def _removed(_: None) -> RouteReply:
    return RouteReply(status=HTTPStatus.NO_CONTENT)


ROUTES = (
    Route(
        "POST",
        "/api/documents",
        "addDocument",
        "Documents",
        "Hand in a document; once it is ready, MB_Load loads it into a bank by its name.",
        add_document,
        reply=ref("IngestedDocument"),
        status=HTTPStatus.ACCEPTED,
        body=Document,
        errors=(404,),
        mutates=True,
        example={
            "name": "Observing plan",
            "content": "# Tonight\n\nJupiter rises at nine.",
            "media_type": "text/markdown",
        },
    ),
    Route(
        "GET",
        "/api/documents",
        "listDocuments",
        "Documents",
        "List your documents by name.",
        list_documents,
        reply=record(
            "A page of documents.",
            documents=array(ref("IngestedDocument")),
            next=nullable(text("Cursor of the next page.")),
        ),
        query=DocumentsAsked,
    ),
    Route(
        "GET",
        "/api/documents/{id}",
        "getDocument",
        "Documents",
        "Read the status of a document.",
        read_document,
        reply=ref("IngestedDocument"),
        errors=(404,),
    ),
    Route(
        "DELETE",
        "/api/documents/{id}",
        "removeDocument",
        "Documents",
        "Remove a document for good; what banks have loaded of it stays.",
        remove_document,
        status=HTTPStatus.NO_CONTENT,
        errors=(404,),
        mutates=True,
    ),
)
