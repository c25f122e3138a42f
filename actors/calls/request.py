"""TPSRequest: the body of every command (docs/contract.md, "The command bus")."""

import re
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from actors.calls.known_members import Members, members_of
from actors.calls.member_descriptions import GENERAL
from actors.errors import InvalidField, MissingField

MAX_ERRORS = 10
"""The largest number of wrong fields that one answer names."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{1,62}[A-Za-z0-9]$"
"""An entity's name: 3 to 64 ASCII letters, digits, `_`, `-`, `.`, the first and last a letter or digit."""

SECRET_MIN = 8
_NO_NUL = r"^[^\x00]*$"
_NUL_IN_JSON = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_name = re.compile(NAME_PATTERN)


def _blank_is_missing(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


Access = Literal["public", "domain", "bank", "agent"]
Permission = Literal["none", "read", "write", "admin"]
BlankIsMissing = _Blank = BeforeValidator(_blank_is_missing)
REFERENCE_CHARS = 200
"""The largest length of a name or an id."""
Reference = Annotated[Annotated[str, StringConstraints(max_length=REFERENCE_CHARS, pattern=_NO_NUL)] | None, _Blank]
RequiredReference = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=REFERENCE_CHARS, pattern=_NO_NUL)], _Blank
]
Text = Annotated[Annotated[str, StringConstraints(max_length=8_000, pattern=_NO_NUL)] | None, _Blank]
Content = Annotated[Annotated[str, StringConstraints(max_length=32_000, pattern=_NO_NUL)] | None, _Blank]
RequiredSecret = Annotated[Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=_NO_NUL)], _Blank]
Secret = Annotated[Annotated[str, StringConstraints(max_length=256, pattern=_NO_NUL)] | None, _Blank]


class Body(BaseModel):
    """A request's body; `checked` reads one."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class _Part(BaseModel):
    # `parse` refuses unknown members first; pydantic would make an error of each
    model_config = ConfigDict(
        strict=True, frozen=True, extra="ignore", json_schema_extra={"additionalProperties": False}
    )


class Target(_Part):
    """The entities that a command acts on: by name, a conversation by its id."""

    user: Reference = Field(None, description=GENERAL["target.user"])
    agent: Reference = Field(None, description=GENERAL["target.agent"])
    domain: Reference = Field(None, description=GENERAL["target.domain"])
    zone: Reference = Field(None, description=GENERAL["target.zone"])
    bank: Reference = Field(None, description=GENERAL["target.bank"])
    conversation: Reference = Field(None, description=GENERAL["target.conversation"])


class Definition(_Part):
    """The definition of an entity to create, change or load."""

    name: Reference = Field(None, description=GENERAL["vx.name"])
    description: Text = Field(None, description=GENERAL["vx.description"])
    profile: Text = Field(None, description=GENERAL["vx.profile"])
    access: Annotated[Access | None, _Blank] = Field(None, description=GENERAL["vx.access"])
    secret: Secret = Field(None, description=GENERAL["vx.secret"])
    permission: Annotated[Permission | None, _Blank] = Field(None, description=GENERAL["vx.permission"])
    seq: Annotated[int, Field(ge=1, le=2**53 - 1)] | None = Field(None, description=GENERAL["vx.seq"])


class Page(_Part):
    """The part of a list to return."""

    limit: Annotated[int, Field(ge=1, le=200)] | None = Field(None, description=GENERAL["page.limit"])
    cursor: Annotated[Annotated[str, StringConstraints(max_length=500, pattern=_NO_NUL)] | None, _Blank] = Field(
        None, description=GENERAL["page.cursor"]
    )
    after: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = Field(None, description=GENERAL["page.after"])


class TPSRequest(_Part):
    """A command's body. Unknown members are refused; null and blank count as missing."""

    target: Target | None = Field(None, description=GENERAL["target"])
    vx: Definition | None = Field(None, description=GENERAL["vx"])
    content: Content = Field(None, description=GENERAL["content"])
    page: Page | None = Field(None, description=GENERAL["page"])


NO_TARGET = Target()  # pyright: ignore[reportCallIssue]
NO_DEFINITION = Definition()  # pyright: ignore[reportCallIssue]
EMPTY = TPSRequest()  # pyright: ignore[reportCallIssue]
MEMBERS = members_of(TPSRequest, "service")
"""The members of a command's body; `service` stands there on the command bus and is ignored on an alias."""

_validate = TPSRequest.__pydantic_validator__.validate_python
B = TypeVar("B", bound=Body)


def parse(body: dict[str, Any], members: Members = MEMBERS) -> TPSRequest:
    """Check that a command's body has only these members, and their types.

    Raises:
        InvalidField: the note names the path of up to ten unknown members, or else of up to ten wrong ones.
    """
    members.require_known(body)
    try:
        return _validate(body)
    except ValidationError as error:
        raise refusal_of(error) from None


def checked(model: type[B], body: dict[str, Any], as_sent: bytes = b"") -> B:
    """Check a gateway route's body like `parse`; its JSON `as_sent` tells whether free-form members have a NUL.

    Raises:
        InvalidField: the note names the path of up to ten unknown members, or else of up to ten wrong ones.
        MissingField: it lacks a required member.
    """
    _members_of(model).require_known(body)
    try:
        valid = model.model_validate(body)
    except ValidationError as error:
        raise refusal_of(error) from None
    if b"\\u0000" in as_sent and _NUL_IN_JSON.search(as_sent):  # members of other types have been checked
        free_form = next((name for name, value in valid if isinstance(value, dict)), None)
        if free_form is not None:
            raise InvalidField(f"Invalid value of {free_form}: a text must not contain NUL.")
    return valid


@cache
def _members_of(model: type[Body]) -> Members:
    return members_of(model)


def refusal_of(error: ValidationError, sent: object = None) -> InvalidField | MissingField:
    """Make the error for a body: it names up to ten wrong members, or else one that is missing.

    A body that was validated by a union's kinds is `sent` along, because pydantic's paths name these kinds, too.
    """
    missing, problems = _parted(error)
    if not problems:
        path = ".".join(_path(missing[0], sent))
        return MissingField(f"missing {path} field: send a value as `{path}`.")
    named = [f"{'.'.join(_path(problem, sent)) or 'the body'}: {_plain(problem)}" for problem in problems[:MAX_ERRORS]]
    more = len(problems) - MAX_ERRORS
    return InvalidField("Invalid value of " + "; ".join(named) + (f"; and {more} more" if more > 0 else "") + ".")


def _path(problem: ErrorDetails, sent: object) -> list[str]:
    """Return the path of a wrong member, without steps that the body doesn't have but for a missing member's last."""
    if sent is None:
        return [str(step) for step in problem["loc"]]
    path: list[str] = []
    at: Any = sent
    for place, step in enumerate(problem["loc"]):
        is_there = isinstance(step, int) if isinstance(at, list) else isinstance(at, dict) and step in at
        if is_there:
            at = cast(Any, at)[step]
        if is_there or (problem["type"] == "missing" and place == len(problem["loc"]) - 1):
            path.append(str(step))
    return path


def _parted(error: ValidationError) -> tuple[list[ErrorDetails], list[ErrorDetails]]:
    """Split the problems into missing or null members and wrong ones, to which null in a list belongs."""
    missing: list[ErrorDetails] = []
    wrong: list[ErrorDetails] = []
    for problem in error.errors(include_url=False):
        is_null = problem["input"] is None and not isinstance(problem["loc"][-1], int)
        (missing if problem["type"] == "missing" or is_null else wrong).append(problem)
    return missing, wrong


_PLAIN = {
    "string_type": "it must be a text",
    "dict_type": "it must be an object",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "list_type": "it must be a list",
    "bool_type": "it must be true or false",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "int_parsing_size": "the number is out of range",
    "greater_than_equal": "it must be at least {ge:,}",
    "less_than_equal": "it must be at most {le:,}",
    "string_too_short": "it must have {min_length:,} or more characters",
    "string_too_long": "it must have at most {max_length:,} characters",
    "too_short": "it must have {min_length:,} or more entries",
    "too_long": "it must have at most {max_length:,} entries",
    "literal_error": "it must be {expected}",
}
"""Messages for the types of pydantic's errors, with members of their `ctx`."""


def _plain(problem: ErrorDetails) -> str:
    kind, message = problem["type"], problem["msg"]
    if kind == "string_type" and problem["input"] is None:  # in a list, where blank texts have become null, too
        return "it must be a text that is not blank"
    if kind == "int_type" and isinstance(problem["input"], float) and abs(problem["input"]) >= 2**63:
        return "the number is out of range"  # JSON's whole numbers beyond 64 bits are read as floats
    if kind in _PLAIN:
        return _PLAIN[kind].format_map(problem.get("ctx", {}))
    if _NO_NUL in message:
        return "a text must not contain NUL"
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def require(request: TPSRequest, paths: tuple[str, ...]) -> None:
    """Refuse a body that lacks a required member.

    Raises:
        MissingField: the note begins with `missing ... field`.
    """
    for path in paths:
        part, _, member = path.partition(".")
        given: object = getattr(request, part)
        if given is None or (member and getattr(given, member) is None):
            shown = path.removeprefix("vx.") if path in ("vx.description", "vx.name") else path
            raise MissingField(f"missing {shown} field: send a text as `{path}`.")


def require_name(name: str) -> str:
    """Check an entity's name and return it.

    Raises:
        InvalidField: it breaks the rule for names.
    """
    if not _name.match(name) or name.endswith("\n"):
        raise InvalidField(
            "Invalid value of vx.name: a name has 3 to 64 ASCII letters, digits, `_`, `-` or `.`, "
            "and begins and ends with a letter or digit."
        )
    return name


def require_secret(secret: str) -> str:
    """Check a new password and return it.

    Raises:
        InvalidField: it is too short.
    """
    if len(secret) < SECRET_MIN:
        raise InvalidField(f"Invalid value of vx.secret: a password has {SECRET_MIN} to 256 characters.")
    return secret
