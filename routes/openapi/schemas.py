"""OpenAPI 3.0 schemas of records and answers (docs/contract.md, "Records")."""

from typing import Any

from actors.calls.request import NAME_PATTERN
from actors.errors import ServiceError

Schema = dict[str, Any]


def text(description: str = "", **more: Any) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", **({"description": description} if description else {}), **more}


def number(description: str = "", **more: Any) -> Schema:
    """Return the schema of an integer."""
    return {"type": "integer", **({"description": description} if description else {}), **more}


def flag(description: str = "") -> Schema:
    """Return the schema of a boolean."""
    return {"type": "boolean", **({"description": description} if description else {})}


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null, because OpenAPI 3.0 has no null type."""
    return {**schema, "nullable": True}


def record(description: str, optional: dict[str, Schema] | None = None, /, **properties: Schema) -> Schema:
    """Return the schema of an object with all members required but the optional ones."""
    return {
        "type": "object",
        "description": description,
        "required": list(properties),
        "properties": properties | (optional or {}),
    }


def ref(name: str) -> Schema:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def parameter(name: str, place: str, schema: Schema, description: str, *, required: bool = False) -> Schema:
    """Return a parameter of a request; `place` is `query` or `header`."""
    needed: Schema = {"required": True} if required else {}
    return {"name": name, "in": place, **needed, "schema": schema, "description": description}


def array(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


TIME = text(format="date-time", example="2026-11-20T10:00:00.000Z")
PLAN = text(enum=["free", "builder", "scale", "enterprise"])
ACCESS = text(
    "`public`: everyone; `domain`, `bank`: those who share one; `agent`: the owner alone.",
    enum=["public", "domain", "bank", "agent"],
)


def ident(prefix: str) -> Schema:
    """Return the schema of an identifier: a prefix and a sortable unique part."""
    return text(pattern=f"^{prefix}_[0-9a-f]{{32}}$")


NAME = text(pattern=NAME_PATTERN, example="lovelace")

_MEMORY = {
    "id": ident("mem"),
    "name": text(),
    "text": nullable(text("Null when censored.")),
    "author": nullable(text("The agent that loaded it; null once that is destroyed.")),
    "censored": flag(),
    "created_at": TIME,
    "updated_at": TIME,
}

_OF_AGENT = {
    "destroyed_agent": text("The agent that it is from, by name; present only if that has been destroyed since.")
}
"""The optional members of a record of an agent's words."""

RECORDS: dict[str, tuple[str, Schema]] = {
    "own_user": (
        "OwnUser",
        record(
            "A user as it sees itself.",
            id=ident("usr"),
            name=NAME,
            description=nullable(text()),
            profile=nullable(text()),
            plan=PLAN,
            created_at=TIME,
            quota=record(
                "Requests of this UTC day; null where the plan has no limit.",
                limit=nullable(number()),
                used=number(),
                remaining=nullable(number()),
                resets_at=TIME,
                window=text(format="date"),
            ),
            counts=record(
                "The numbers of entities that the user owns.",
                agents=number(),
                domains=number(),
                banks=number(),
                api_keys=number(),
            ),
        ),
    ),
    "session": (
        "Session",
        record(
            "A log-on of a user.",
            id=ident("ses"),
            created_at=TIME,
            last_used_at=TIME,
            expires_at=TIME,
            current=flag("Whether it is the session of this request."),
        ),
    ),
    "token": (
        "Token",
        record(
            "A session token; only this answer shows it.",
            token=text("Send it as `Authorization: Bearer ...`.", pattern="^pls_[0-9A-Za-z]{38}$"),
            token_type=text(enum=["Bearer"]),
            expires_at=TIME,
        ),
    ),
    "agent": (
        "Agent",
        record(
            "An agent.",
            id=ident("agt"),
            name=NAME,
            owner=text("The owner's name."),
            description=text(),
            profile=nullable(text()),
            access=ACCESS,
            state=text(enum=["online", "offline"]),
            created_at=TIME,
            updated_at=TIME,
        ),
    ),
    "standing": (
        "AgentStanding",
        record(
            "The state of an agent, and its domains and banks.",
            state=text(enum=["online", "offline"]),
            domains=array(text()),
            banks=array(text()),
            offers=array(
                record(
                    "A bank offered to the agent; MB_Accept accepts it, MB_Unload declines it.",
                    bank=NAME,
                    owner=text("The name of the bank's owner."),
                    permission=text(enum=["read", "write", "admin"]),
                    since=TIME,
                )
            )
            | {"description": "Banks offered to it; shown to its owner only, else empty."},
            messages=number("Messages in its conversations.", minimum=0),
        ),
    ),
    "domain": (
        "Domain",
        record(
            "A workspace of agents.",
            id=ident("dom"),
            name=NAME,
            owner=text("The name of the founder's owner."),
            founder=text("The name of the agent that founded it."),
            description=text(),
            profile=nullable(text()),
            access=ACCESS,
            created_at=TIME,
            updated_at=TIME,
        ),
    ),
    "membership": (
        "Membership",
        record(
            "The membership of an agent in a domain.",
            agent=text("The agent's name."),
            state=text(enum=["invited", "member", "banned"]),
            founder=flag("Whether the agent founded the domain."),
            since=TIME,
        ),
    ),
    "zone": (
        "Zone",
        record(
            "A stream of messages in a domain.",
            id=ident("zon"),
            name=NAME,
            domain=text("The domain's name."),
            messages=number("Messages in it.", minimum=0),
            last_seq=number("The seq of the last message, 0 without messages.", minimum=0),
            created_at=TIME,
        ),
    ),
    "bank": (
        "Bank",
        record(
            "A memory bank.",
            id=ident("bnk"),
            name=NAME,
            owner=text("The owner's name."),
            description=nullable(text()),
            access=ACCESS,
            memories=number("How many it holds.", minimum=0),
            created_at=TIME,
            updated_at=TIME,
        ),
    ),
    "attachment": (
        "Attachment",
        record(
            "An agent's permission in a bank, or the one offered to it.",
            agent=text("The agent's name."),
            permission=text(enum=["none", "read", "write", "admin"]),
            state=text("`offered` until the agent's owner accepts it.", enum=["offered", "attached"]),
            since=TIME,
        ),
    ),
    "removed": (
        "RemovedMemories",
        record("The result of a removal.", memories=number("The number of memories removed.")),
    ),
    "memory": ("Memory", record("A named text in a bank.", _OF_AGENT, **_MEMORY)),
    "recalled": (
        "RecalledMemory",
        record(
            "A memory that was found.",
            _OF_AGENT,
            **_MEMORY,
            score={"type": "number", "description": "Higher fits better; orders the memories of one answer."},
            answers=flag("Whether it answers the text as a question; a chat quotes only such memories."),
        ),
    ),
    "message": (
        "Message",
        record(
            "A message of a conversation or of a zone.",
            _OF_AGENT,
            id=ident("msg"),
            role=text(enum=["user", "agent"]),
            name=text("The name of its author at that time."),
            content=text(),
            at=TIME,
            zone=nullable(text("The zone's name; null in a conversation.")),
            conversation=nullable(ident("cnv")),
            seq=number("Its number in the conversation, without gaps.", minimum=1),
            mark=nullable(
                text(
                    "`cancelled`: a reply that is not whole, or a message whose reply was cancelled before it began."
                    " `imported`: from a client's history."
                )
            ),
            sources=array(
                {
                    "type": "object",
                    "description": "The source of a reply: a bank's memory, a message, or the profile.",
                    "required": ["quote"],
                    "properties": {
                        "bank": text("The bank's name."),
                        "conversation": text("Whose conversation it is of."),
                        "profile": text("The agent's name."),
                        "name": text("The memory's name."),
                        "id": text("The message's or agent's id."),
                        "quote": text("The words that were used."),
                    },
                }
            ),
        ),
    ),
    "conversation": (
        "Conversation",
        record(
            "A private conversation of the user with an agent.",
            id=ident("cnv"),
            agent=text("The agent's name."),
            title=nullable(text()),
            default=flag("Whether AP_Chat goes on with it if no other is named."),
            messages=number("How many it has.", minimum=0),
            last_seq=number("The seq of its last message.", minimum=0),
            created_at=TIME,
            updated_at=TIME,
        ),
    ),
}
"""Kinds of records in COMMANDS, each with the name and the schema in the document."""


def all_codes() -> list[int]:
    """Return every internal code, in order."""
    return [0, *sorted({error.internal_code for error in ServiceError.__subclasses__()})]


STATUS = {
    "type": "object",
    "description": "The outcome. Errors have a `note` with the remedy.",
    "required": ["success", "internal_code", "http_code"],
    "properties": {
        "success": flag(),
        "internal_code": number("0, or what went wrong.", enum=all_codes()),
        "http_code": number("The precise HTTP code.", minimum=200, maximum=599),
        "note": text(),
    },
}

HEADER = record(
    "The request of this answer.",
    service=nullable(text()),
    request_id=text("`X-Request-Id` of the request, or one that was made."),
    time=TIME,
    context=record(
        "The names selected after the command.",
        user=nullable(text()),
        agent=nullable(text()),
        domain=nullable(text()),
        zone=nullable(text()),
    ),
    next=nullable(text("Cursor of the next page, on lists.")),
)


TPS_RESPONSE = record(
    "The answer of a command; each command has a schema of its own for the records in the lists.",
    header=ref("Header"),
    status=ref("Status"),
    profile=array({"type": "object", "description": "A record."}),
    content=array({"type": "object", "description": "A record."}),
)


def command_response(description: str, profile: Schema | None, content: Schema | None) -> Schema:
    """Return the schema of a TPSResponse with these kinds of records; None means an always empty list."""
    lists = {
        name: array({"type": "object"}) | {"maxItems": 0} if items is None else array(items)
        for name, items in (("profile", profile), ("content", content))
    }
    return record(description, header=ref("Header"), status=ref("Status"), **lists)
