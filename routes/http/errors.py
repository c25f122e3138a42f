"""The handler of errors that no front door has answered."""

import logging
from collections.abc import Callable
from functools import partial

from sanic import HTTPResponse, Request, handlers
from sanic.exceptions import (
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    RequestCancelled,
    RequestTimeout,
    SanicException,
    ServiceUnavailable,
)

from actors import errors
from actors.runtime.durable import may_be_stored
from persistence.store import InDoubt, StoreUnavailable
from routes.http.answers import HttpAnswer, bus_error, error_answer, request_id_of
from routes.http.bodies import whole_header

log = logging.getLogger("parley.http")


DoorAnswer = Callable[[str, Callable[[str], str | None], str, errors.ServiceError, dict[str, str]], HttpAnswer | None]
"""Writes an error in the shape of the door that a path belongs to, from the request's headers; None for no door."""


class ErrorHandler(handlers.ErrorHandler):
    """Answers every exception in the common error shape, Sanic's included."""

    def __init__(self, bus_prefix: str, door_answer: DoorAnswer) -> None:
        super().__init__()
        self._bus_prefix = bus_prefix
        self._door_answer = door_answer

    def default(self, request: Request, exception: Exception) -> HTTPResponse:
        """Return the answer to an exception: a TPSResponse, a door's shape, or the status object."""
        error = as_service_error(exception)
        extra: dict[str, str] = {}
        if isinstance(exception, MethodNotAllowed):
            extra["Allow"] = exception.headers.get("Allow", "")
        if request.path.startswith(self._bus_prefix):
            return bus_error(request_id_of(request), None, error, extra=extra).response()
        request_id = request_id_of(request)
        of_door = self._door_answer(request.path, partial(whole_header, request), request_id, error, extra)
        return (of_door or error_answer(request_id, error, extra)).response()


def as_service_error(exception: BaseException) -> errors.ServiceError:
    """Return the error to show to the caller; an unexpected exception is logged and becomes 5000."""
    match exception:
        case errors.ServiceError():
            return exception
        case InDoubt():
            return may_be_stored()
        case StoreUnavailable():
            return errors.StorageUnavailable("The gateway's storage is unavailable, so nothing was done; try again.")
        case NotFound():
            return errors.NoSuchRoute("There is no such route; see /docs for all of them.")
        case MethodNotAllowed():
            return errors.WrongMethod("This route does not take this method; see Allow and /docs.")
        case PayloadTooLarge():
            return errors.BodyTooLarge("The body is larger than this gateway takes; send less.")
        case RequestTimeout():
            return errors.RequestTimeout("The request did not arrive in time; send it whole, at once.")
        case ServiceUnavailable():
            return errors.Overloaded("The gateway did not answer in time; try again.")
        case RequestCancelled():  # the client disconnected: nobody reads the answer
            return errors.RequestTimeout("The client closed the connection.")
        case SanicException() if exception.status_code < 500:
            return errors.MalformedBody(f"The request is not one that the gateway understands: {exception}.")
        case _:
            log.error("a request failed", exc_info=exception)
            return errors.InternalError("The gateway failed on this request; it has been logged. Try again.")
