"""Routes for the skills of a user: list, install, remove."""

from http import HTTPStatus
from typing import Annotated

from pydantic import StringConstraints

from actors.calls.known_members import Members
from actors.calls.request import BlankIsMissing, Body, checked
from actors.commands import skills
from actors.errors import InvalidField, MissingField, WrongMediaType
from actors.library.records import skill_record
from actors.library.skill import MAX_SKILL_FILE_BYTES
from persistence.skills import SkillRow
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.bodies import json_object
from routes.http.exchange import Received
from routes.http.multipart import FormPart, read_form
from routes.openapi.schemas import TIME, array, nullable, record, ref, text

SKILL = record(
    "An installed skill, in the Agent Skills format.",
    name=text(pattern="^[a-z0-9]+(-[a-z0-9]+)*$", example="meeting-notes"),
    description=text("Its effect and its use."),
    license=nullable(text()),
    compatibility=nullable(text("Its requirements on the environment.")),
    metadata={"type": "object", "additionalProperties": {"type": "string"}},
    allowed_tools=array(text()),
    files=array(text("The path of a file beside SKILL.md.")),
    installed_at=TIME,
)


class SkillInstallation(Body):
    """Body of an installation: the name of a skill in the operator's catalog, or the text of a SKILL.md."""

    name: Annotated[Annotated[str, StringConstraints(max_length=200)] | None, BlankIsMissing] = None
    content: Annotated[Annotated[str, StringConstraints(max_length=MAX_SKILL_FILE_BYTES)] | None, BlankIsMissing] = None


_MULTIPART = Members(("file",))

_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "description": "Exactly one of the two.",
                "additionalProperties": False,
                "properties": {
                    "name": nullable(text("A skill of the operator's catalog.", maxLength=200)),
                    "content": nullable(text("A SKILL.md.", maxLength=MAX_SKILL_FILE_BYTES)),
                },
            },
            "example": {"name": "meeting-notes"},
        },
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file"],
                "properties": {"file": text("A zip with the skill's folder in it.", format="binary")},
            }
        },
    },
}


async def list_skills(request: RouteCall) -> RouteReply:
    """List the caller's skills."""
    return RouteReply({"skills": await skills.list_skills(request.call)})


def _parse(received: Received) -> SkillInstallation | bytes:
    """Return what to install: the name or the text of a skill, or a zip.

    Raises:
        WrongMediaType, MalformedBody, MissingField, InvalidField: the body is none of these.
    """
    body, media_type = received.body, received.header("content-type")
    if media_type is not None and media_type.partition(";")[0].strip().lower() == "multipart/form-data":
        return _file_of(read_form(body, media_type))
    body = body or b"{}"
    try:
        sent = json_object(body, media_type, len(body))  # Sanic has limited its size
    except WrongMediaType:
        raise WrongMediaType("Send application/json, or multipart/form-data with a zip as `file`.") from None
    asked = checked(SkillInstallation, sent)
    if asked.name and asked.content:
        raise InvalidField("Invalid value of name: send `name` or `content`, not both.")
    if not asked.name and not asked.content:
        raise MissingField("missing name field: send `name`, or `content`, or a zip as the multipart field `file`.")
    return asked


async def install_skill(request: RouteCall) -> RouteReply:
    """Install a skill: from the catalog, a text or a zip."""
    call, asked = request.call, request.body
    if isinstance(asked, bytes):
        return await skills.install_zip(call, asked, _installed)
    if asked.content:
        return await skills.install_text(call, asked.content, _installed)
    return await skills.install_from_catalog(call, asked.name, _installed)


def _file_of(form: list[FormPart]) -> bytes:
    """Return the file of a form.

    Raises:
        MissingField, InvalidField: the form does not hold exactly one file.
    """
    sent = [part.content for part in form if part.name == "file" and part.is_file]
    if not sent:
        raise MissingField("missing file field: send the zip as the multipart field `file`, with a file name.")
    _MULTIPART.require_known(dict.fromkeys(part.name for part in form))
    if len(sent) > 1:
        raise InvalidField("Invalid value of file: send one zip.")
    return sent[0]


def _installed(skill: SkillRow) -> RouteReply:
    return RouteReply(skill_record(skill), HTTPStatus.CREATED)


async def uninstall_skill(request: RouteCall) -> RouteReply:
    """Remove one of the caller's skills."""
    return await skills.uninstall(request.call, request.params["name"], _uninstalled)


def _uninstalled(_: None) -> RouteReply:
    return RouteReply(status=HTTPStatus.NO_CONTENT)


ROUTES = (
    Route(
        "GET",
        "/api/skills",
        "listSkills",
        "Skills",
        "List the installed skills of your agents.",
        list_skills,
        reply=record("Installed skills, by name.", skills=array(ref("Skill"))),
    ),
    Route(
        "POST",
        "/api/skills/install",
        "installSkill",
        "Skills",
        "Install a skill: from the operator's catalog, a SKILL.md or a zip.",
        install_skill,
        reply=ref("Skill"),
        status=HTTPStatus.CREATED,
        errors=(404, 409),
        mutates=True,
        parse=_parse,
        described_body=_BODY,
    ),
    Route(
        "DELETE",
        "/api/skills/{name}",
        "uninstallSkill",
        "Skills",
        "Remove an installed skill.",
        uninstall_skill,
        status=HTTPStatus.NO_CONTENT,
        errors=(404,),
        mutates=True,
    ),
)
