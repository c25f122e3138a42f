"""The client's groups of services, made from the command table: a class a group, a method a service."""

import json
import re
from typing import Any

from actors.calls.member_descriptions import member_description
from actors.commands.command import Command
from actors.commands.table import COMMANDS, GROUPS
from routes.openapi.request_schemas import request_schema
from routes.openapi.schemas import RECORDS

FILES = {group: f"{group}s" for group in GROUPS}
"""The module of each group, and the client's attribute."""

SEVERAL = {"AP_Chat": "tuple[Message, Message]"}
MAY_BE_GONE = frozenset({"DM_Invite", "DM_Join", "DM_Leave", "DM_Kick", "DM_Ban", "DM_Unban"})
"""Services whose `profile` is empty where the membership is gone."""

ERRORS = {1: "RequestError", 2: "AccessError", 3: "EntityError", 4: "LimitError", 5: "GatewayError"}
KEY = "idempotency_key"
_ORDER = ("target.user", "target.bank", "target.domain", "target.zone", "target.agent", "target.conversation")


def services_module() -> str:
    """Return the module that says which services are public, and which only read."""
    public = sorted(name for name, command in COMMANDS.items() if command.public)
    reading = sorted(name for name, command in COMMANDS.items() if not command.mutates)
    return (
        "# Made by `make client` from the command table: don't edit.\n"
        '"""The properties of services that the client needs."""\n\n'
        f'PUBLIC = frozenset({public!r})\n"""Services that need no credential."""\n\n'
        f'READING = frozenset({reading!r})\n"""Services that change nothing."""\n'
    )


def group_module(group: str) -> str:
    """Return the module of a group's services, asynchronous."""
    commands = [command for command in COMMANDS.values() if command.group == group]
    methods = "\n".join(_method(command) for command in commands)
    used = {RECORDS[kind][0] for command in commands for kind in (command.profile, *command.content) if kind}
    helpers = [name for name in ("entities", "entries") if re.search(rf"\b{name}\(", methods)]
    lines = [
        "# Made by `make client` from the command table: don't edit.",
        f'"""The services of {group}s."""',
        "",
        "from typing import Literal" if "Literal[" in methods else "",
        "",
        "from parley_client._async.pages import AsyncPages" if "AsyncPages" in methods else "",
        f"from parley_client._async.service import AsyncServices, body_of{''.join(', ' + name for name in helpers)}",
        "from parley_client.answers import Page" if "-> Page[" in methods else "",
        *(
            f"from parley_client._async.streams import Async{kind}"
            for kind in ("ChatStream", "ZoneStream")
            if f"Async{kind}" in methods
        ),
        f"from parley_client.records import {', '.join(sorted(used))}",
        "",
        "",
        f"class Async{group.capitalize()}s(AsyncServices):",
        f'    """The services of {group}s."""',
        "",
        methods,
    ]
    return "\n".join(lines)


def method_name(service: str) -> str:
    """Return the method of a service: `log_on` of AP_LogOn."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", service.partition("_")[2]).lower()


def _method(command: Command) -> str:
    if command.follow:
        return _stream(
            command, method_name(command.service), "AsyncZoneStream", "stream_zone", "after: str | None = None"
        )
    made = _command(command)
    if command.streams:
        made += "\n" + _stream(command, "stream_chat", "AsyncChatStream", "stream_chat", f"{KEY}: str | None = None")
    return made


def _command(command: Command) -> str:
    paged, keyed = "page.cursor" in command.uses, command.mutates and not command.public
    returned, expression = _answer(command)
    lazy = paged and not command.mutates
    extra = [f"{KEY}: str | None = None"] if keyed and not paged else []
    lines = [_signature(command, method_name(command.service), returned, extra, is_async=not lazy)]
    lines += _docstring(command, extra)
    key = f", {KEY}={KEY}" if extra else ""
    if paged:
        lines.append(f"        return {expression}")
    else:
        sent = f'await self._client.send("{command.service}", {_body(command)}{key})'
        lines.append(f"        {sent}" if expression is None else f"        answer = {sent}")
        if expression is not None:
            lines.append(f"        return {expression}")
    return "\n".join(lines) + "\n"


def _stream(command: Command, name: str, returned: str, sends: str, more: str) -> str:
    parameter = more.partition(":")[0]
    lines = [
        _signature(command, name, returned, [more], is_async=False),
        *_docstring(command, [more], streamed=True),
        f"        return self._client.{sends}({_body(command)}, {parameter}={parameter})",
    ]
    return "\n".join(lines) + "\n"


def _signature(command: Command, name: str, returned: str, extra: list[str], *, is_async: bool) -> str:
    needed, optional = _parameters(command)
    own = f"target.{command.group}"
    plain = [f"{_parameter(path)}: {_type(command, path)}" for path in needed]
    if not needed and own in optional and not _is_list(command):
        optional.remove(own)
        plain.append(f"{command.group}: str | None = None")
    named = [f"{_parameter(path)}: {_type(command, path)} | None = None" for path in optional] + extra
    star = ["*"] if named else []
    begin = "async def" if is_async else "def"
    return f"    {begin} {name}({', '.join(['self', *plain, *star, *named])}) -> {returned}:"


def _is_list(command: Command) -> bool:
    return "page.cursor" in command.uses and not command.content


def _parameters(command: Command) -> tuple[list[str], list[str]]:
    """Return the required members in the order of a call, and the others."""
    order = [*_ORDER, "vx.name", "vx.secret", "vx.description", "content"]
    needed = sorted(command.requires, key=order.index)
    return needed, [path for path in command.uses if path not in needed]


def _parameter(path: str) -> str:
    return path.rpartition(".")[2]


def _type(command: Command, path: str) -> str:
    schema: dict[str, Any] = request_schema(command)
    for part in path.split("."):
        schema = schema["properties"][part]
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    return {"string": "str", "integer": "int"}[schema["type"]]


def _body(command: Command) -> str:
    parts: dict[str, list[str]] = {}
    for path in sorted(command.uses, key=lambda path: path.partition(".")[0]):
        part, _, member = path.rpartition(".")
        if part:
            parts.setdefault(part, []).append(f'"{member}": {member}')
    given = [f"{part}={{{', '.join(parts[part])}}}" for part in ("target", "vx", "page") if part in parts]
    if "content" in command.uses:
        given.append("content=content")
    return f"body_of({', '.join(given)})" if given else "{}"


def _answer(command: Command) -> tuple[str, str | None]:
    """Return the type of a method's result, and the expression that makes it; None where there is no result."""
    record = RECORDS[command.profile][0] if command.profile else None
    item = RECORDS[command.content[0]][0] if command.content else None
    request = f'self._client, "{command.service}", {_body(command)}'
    if "page.cursor" in command.uses:
        if command.mutates:  # it is carried out at once, not when it is iterated
            return f"Page[{item}, {record}]", f"await entries({request}, {item}, {record}).page()"
        if item:
            return f"AsyncPages[{item}, {record}]", f"entries({request}, {item}, {record})"
        return f"AsyncPages[{record}, None]", f"entities({request}, {record})"
    if "page.limit" in command.uses:
        return f"tuple[{item}, ...]", f"answer.items({item})"
    if command.service in SEVERAL:
        return SEVERAL[command.service], f"answer.item({item}), answer.item({item}, 1)"
    if command.service in MAY_BE_GONE:
        return f"{record} | None", f"next(iter(answer.records({record})), None)"
    match record, item:
        case str(), str():
            return f"tuple[{record}, {item}]", f"answer.record({record}), answer.item({item})"
        case str(), None:
            return record, f"answer.record({record})"
        case None, str():
            return item, f"answer.item({item})"
        case _:
            return "None", None


def _docstring(command: Command, extra: list[str], *, streamed: bool = False) -> list[str]:
    said = command.summary
    if streamed and not command.follow:
        said = "Say something to an agent; its reply is yielded while it is written."
    first, rest = _first_line(said)
    lines = [f'        """{first}', "", f"        {_wrapped(f'{rest}Sends {command.service}.', 8)}"]
    needed, optional = _parameters(command)
    about = [f"{_parameter(path)}: {member_description(command.service, path)}" for path in (*needed, *optional)]
    if extra and extra[0].startswith(KEY):
        about.append(f"{KEY}: The key under which it is carried out once; one is made where absent.")
    elif extra:
        about.append("after: The id of the event after which to begin, `0` for all there are; now where absent.")
    if about:
        lines += ["", "        Args:", *(f"            {_wrapped(text, 16)}" for text in about)]
    if command.example is not None:
        called = _streamed_call(command) if streamed and not command.follow else _broken(example_call(command))
        lines += ["", "        Example:", *(f"            {line}" for line in called.split("\n"))]
    groups: dict[int, list[int]] = {}
    for code in sorted(set(command.errors)):
        groups.setdefault(code // 1000, []).append(code)
    if groups:
        lines += ["", "        Raises:"]
        lines += [f"            {ERRORS[group]}: {', '.join(map(str, codes))}" for group, codes in groups.items()]
    return [*lines, '        """']


def _first_line(text: str) -> tuple[str, str]:
    """Return the first line of a docstring, and what follows it in a paragraph of its own."""
    if len(text) <= 106:
        return text, ""
    first, mark, rest = re.split(r"(: |; )", text, maxsplit=1)
    return f"{first}.", f"{rest[0].upper()}{rest[1:]} " if mark else ""


def _wrapped(text: str, indent: int, width: int = 104) -> str:
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return ("\n" + " " * indent).join([*lines, line])


def _broken(call: str) -> str:
    """Break a long call as a formatter does."""
    if len(call) <= 100:
        return call
    begin, _, arguments = call.partition("(")
    return f"{begin}(\n    {arguments.removesuffix(')')}\n)"


def example_call(command: Command) -> str:
    """Return the table's example of a command as a call of the asynchronous client."""
    given = _flat(command.example or {})
    needed, _ = _parameters(command)
    own = f"target.{command.group}"
    first = [path for path in needed if path in given]
    if not needed and own in given and not _is_list(command):
        first = [own]
    parts = [_literal(given[path]) for path in first]
    parts += [f"{_parameter(path)}={_literal(value)}" for path, value in given.items() if path not in first]
    call = f"client.{FILES[command.group]}.{method_name(command.service)}({', '.join(parts)})"
    if command.follow:
        return f"async for event in {call}:\n    print(event)"
    lazy = "page.cursor" in command.uses and not command.mutates
    return f"[item async for item in {call}]" if lazy else f"await {call}"


def _streamed_call(command: Command) -> str:
    """Return the table's example of a chat as a streamed one."""
    call = example_call(command).removeprefix("await ").replace(".chat(", ".stream_chat(")
    return f'async for text in {call}.text():\n    print(text, end="", flush=True)'


def _literal(value: Any) -> str:
    """Return a value as a formatter writes it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _flat(example: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in example.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{member}": inner for member, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
        else:
            flat[name] = value
    return flat
