"""The refusals of requests that call no tool, as errors of JSON-RPC."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from actors.errors import InvalidField, MissingField, NotFound, NotPermitted, ServiceError
from routes.http.answers import status_of
from routes.http.errors import as_service_error
from routes.mcp.asgi_bridge import McpMessage

RESOURCE_NOT_FOUND = -32002
"""The code for a resource that does not exist before 2026-07-28, which has `INVALID_PARAMS` for it (SEP-2164)."""
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SINCE_STATELESS = "2026-07-28"


@contextmanager
def refusing(asked: McpMessage, version: str, uri: str | None = None) -> Generator[None]:
    """Raise the errors of the core as MCP's, and note their internal code for the log.

    Args:
        asked: the message.
        version: the protocol's version.
        uri: the resource that the message names; one that the caller may not see or read does not exist.

    Raises:
        MCPError: the core has refused the request; `data` holds the status object of the bus, and the URI.
    """
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415

    try:
        yield
    except MCPError:
        asked.code = asked.code or InvalidField.internal_code
        raise
    except Exception as raised:
        error = as_service_error(raised)
        asked.code = error.internal_code
        data: dict[str, Any] = {"status": status_of(error)} | ({"uri": uri} if uri is not None else {})
        raise MCPError(_code_of(error, version, uri), error.note, data) from None


def _code_of(error: ServiceError, version: str, uri: str | None) -> int:
    if isinstance(error, NotFound | NotPermitted):
        return RESOURCE_NOT_FOUND if uri is not None and version < SINCE_STATELESS else INVALID_PARAMS
    return INVALID_PARAMS if isinstance(error, InvalidField | MissingField) else INTERNAL_ERROR
