"""The skills of a user as MCP's prompts, and the completion of names (docs/mcp.md, "Prompts")."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from actors.calls.call import Call
from actors.commands import resources
from actors.errors import InvalidField
from routes.mcp.groups import offers_group
from routes.mcp.resources import TEMPLATES
from routes.uris import uri

if TYPE_CHECKING:
    from mcp_types import CompleteRequestParams, Completion, GetPromptResult, ListPromptsResult

MAX_COMPLETIONS = 100
"""The protocol's limit."""
MAX_NAME = 200

_URIS = {template["uriTemplate"].replace("{+", "{"): template["name"] for template in TEMPLATES}
"""The templates' names. They are found with `{+path}`, as listed, and with `{path}`, because the files are the same."""


async def list_prompts(call: Call) -> "ListPromptsResult":
    """List the caller's skills, by name; there are at most 100, so the list has one page."""
    from mcp_types import ListPromptsResult, Prompt  # noqa: PLC0415

    skills = await resources.skills_of(call)
    return ListPromptsResult(prompts=[Prompt(name=skill.name, description=skill.description) for skill in skills])


async def get_prompt(call: Call, name: str, arguments: Mapping[str, str] | None) -> "GetPromptResult":
    """Return one of the caller's skills as a message of the user: its body, and the URIs of its files.

    Raises:
        NotFound: the caller has none of that name.
        InvalidField: arguments are given, which skills don't have.
    """
    from mcp_types import GetPromptResult, PromptMessage, TextContent  # noqa: PLC0415

    if arguments:
        raise InvalidField(f"Invalid value of arguments: a skill takes none, and not {min(arguments)[:64]!r}.")
    skill, body = await resources.read_skill(call, name)
    files = "\n".join(f"- {uri('skill', skill.name, path)}" for path in skill.files)
    text = f"{body}\n\nFiles of this skill, as resources:\n{files}" if files else body
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=skill.description, messages=[message])


async def complete(call: Call, groups: frozenset[str], params: "CompleteRequestParams") -> "Completion":
    """Return the names that the value of an argument may become.

    Raises:
        NotFound, NotPermitted: it names a bank that the caller may not see, or read.
        InvalidField: there is no such template, or it has no such argument.
    """
    from mcp_types import Completion, ResourceTemplateReference  # noqa: PLC0415

    argument, value = params.argument.name, params.argument.value
    if not isinstance(params.ref, ResourceTemplateReference):
        raise InvalidField("Invalid value of ref: prompts have no arguments.")
    given = (params.context and params.context.arguments) or {}
    template = _URIS.get(params.ref.uri.replace("{+", "{"))
    if any("\x00" in text or len(text) > MAX_NAME for text in (value, *given.values())):
        raise InvalidField(f"Invalid value of argument: a name has up to {MAX_NAME} characters, and no NUL.")
    if template in ("bank", "memory") and not offers_group("bank", groups):
        return Completion(values=[])
    if template == "zone" and not offers_group("zone", groups):
        return Completion(values=[])
    names = await _names(call, template, argument, value, given)
    return Completion(values=names[:MAX_COMPLETIONS], has_more=len(names) > MAX_COMPLETIONS)


async def _names(call: Call, template: str | None, argument: str, value: str, given: Mapping[str, str]) -> list[str]:
    most = MAX_COMPLETIONS + 1
    match template, argument:
        case "bank" | "memory", "bank":
            return await resources.bank_names(call, value, most)
        case "memory", "memory":
            bank = given.get("bank", "")
            return await resources.memory_names(call, bank, value, most) if bank.strip() else []
        case "zone", "domain":
            return await resources.domain_names(call, value, most)
        case "zone", "zone":
            return await resources.zone_names(call, given.get("domain", ""), value, most)
        case "skill-file", "skill":
            return [skill.name for skill in await resources.skills_of(call) if skill.name.startswith(value)]
        case "skill-file", "path":
            found = [skill for skill in await resources.skills_of(call) if skill.name == given.get("skill")]
            return [path for skill in found for path in skill.files if path.startswith(value)]
        case _:
            raise InvalidField("Invalid value of ref or argument: resources/templates/list shows templates and names.")
