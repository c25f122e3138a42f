"""Descriptions of request members, command by command: the OpenAPI document and the MCP tools take them from here."""

from collections.abc import Mapping

NAME_RULE = "3 to 64 ASCII letters, digits, `_`, `-` or `.`, beginning and ending with a letter or digit"

_SELECTED_AGENT = "The agent's name; the selected agent when absent."
_SELECTED_DOMAIN = "The domain's name; the selected domain when absent."
_SELECTED_ZONE = "The zone's name; when absent, the selected zone if it is in that domain, else the lobby."
_CONVERSATION = "The conversation's id (`cnv_...`), or `default` for the one that AP_Chat uses when none is named."
_SOME_CONVERSATION = "The conversation's id (`cnv_...`, from CV_List), or `default` for the default one with the agent."
_ITS_AGENT = "The agent whose default conversation is meant, the selected one when absent; an id needs no agent."
_TITLE = "The conversation's title"
_OWN_NAME = "Your own user name, or nothing: nobody else can be named here."
_OWNER = "The name of the agent's owner, as a check that the right agent is meant; usually left out."
_OF_CONVERSATION = {"target.agent": _ITS_AGENT, "target.conversation": _SOME_CONVERSATION}
_KEEPS = "stays as it is when absent"
_MEMORIES_OF = (
    "Takes the memories that this agent loaded; with `vx.name`, those that fit both. The selected agent is no default."
)
_WHICH_MEMORIES = (
    "The memory's name, or a document's name for all its parts; `*` for every memory. "
    "Needed unless `target.agent` is sent."
)

GENERAL: Mapping[str, str] = {
    "target": "The entities that the command acts on: by name, a conversation by its id.",
    "target.user": "A user's name.",
    "target.agent": _SELECTED_AGENT,
    "target.domain": _SELECTED_DOMAIN,
    "target.zone": _SELECTED_ZONE,
    "target.bank": "The bank's name.",
    "target.conversation": _CONVERSATION,
    "vx": "The entity that the command creates, changes or loads.",
    "vx.name": "The name of the entity that the command creates, changes, loads, reads, removes or ends.",
    "vx.description": "A description for people.",
    "vx.profile": "An agent's knowledge and behaviour; more about a user or domain.",
    "vx.access": "Who sees it: `public` everyone, `domain` or `bank` users who share one with it, "
    "`agent` only the owner.",
    "vx.secret": "A password of 8 to 256 characters.",
    "vx.permission": "An agent's permission in a bank.",
    "vx.seq": "The `seq` of a message in its conversation.",
    "content": "The text to say, load or look for, 1 to 32,000 characters.",
    "page": "The part of the list to return.",
    "page.limit": "The largest number of entries to return; 50 when absent.",
    "page.cursor": "`header.next` of the page before, unchanged; the first page when absent.",
    "page.after": "A message's `seq`: returns the messages after it, oldest first, instead of the newest ones.",
}
"""The general description of each member, for TPSRequest and for commands without a description of their own."""

_PROFILE = "The agent's knowledge and behaviour; the chat engine answers from it."
_NEW_ACCESS = f"{GENERAL['vx.access']} `agent` when absent."
_CHANGED_ACCESS = f"{GENERAL['vx.access']} It {_KEEPS}."

OF_COMMAND: Mapping[str, Mapping[str, str]] = {
    "US_Create": {
        "vx": "The new user.",
        "vx.name": f"The new user's name: {NAME_RULE}; not taken yet.",
        "vx.description": "Who the user is, for people.",
        "vx.profile": "More about the user.",
        "vx.secret": "The new user's password, 8 to 256 characters.",
    },
    "US_LogOn": {
        "target": "Who logs on.",
        "target.user": "The name of the user who logs on.",
        "vx": "The password.",
        "vx.secret": "That user's password.",
    },
    "US_Revoke": {
        "vx": "Which session to end.",
        "vx.name": "The id of the session (`ses_...`, from US_Sessions), or `all` for every session but this one.",
    },
    "US_Update": {
        "vx": "What to change; at least one member.",
        "vx.description": f"Who the user is, for people; {_KEEPS}.",
        "vx.profile": f"More about the user; {_KEEPS}.",
        "vx.secret": "The new password, 8 to 256 characters; it ends the user's other sessions.",
    },
    "US_Destroy": {
        "vx": "The password, as confirmation.",
        "vx.secret": "Your current password, as confirmation.",
    },
    "AP_Add": {"target.user": _OWNER, "target.agent": "The name of the agent to put on your roster."},
    "AP_Chat": {
        "target": "The agent or zone to speak to, for this request only; the selected one when absent.",
        "target.agent": "The name of the agent to speak to; the selected agent when absent.",
        "target.domain": "Speak in a zone of this domain instead of privately.",
        "target.zone": "The zone to speak in: one of `target.domain`, else of the selected domain. When absent, the "
        "selected zone if it is in that domain, else the lobby.",
        "content": "What to say to the agent, 1 to 32,000 characters.",
    },
    "AP_Create": {
        "target.user": _OWN_NAME,
        "vx": "The new agent.",
        "vx.name": f"The new agent's name: {NAME_RULE}; not taken yet.",
        "vx.description": "What the agent is for, for people.",
        "vx.profile": _PROFILE,
        "vx.access": _NEW_ACCESS,
    },
    "AP_Destroy": {"target.user": _OWNER},
    "AP_History": {
        "target.user": _OWNER,
        "target.agent": "Whose conversation with you; the selected agent when absent.",
    },
    "AP_List": {
        "target": "Narrows the list.",
        "target.user": "Lists the agents of this user that you may see, instead of your own and your roster.",
        "target.agent": "The beginning of the agents' names, in any case; `sc` finds `scout`.",
    },
    "AP_Modify": {
        "target.user": _OWNER,
        "vx": "What to change; at least one member.",
        "vx.name": f"The agent's new name: {NAME_RULE}; it {_KEEPS}.",
        "vx.description": f"What the agent is for, for people; {_KEEPS}.",
        "vx.profile": f"{_PROFILE} It {_KEEPS}.",
        "vx.access": _CHANGED_ACCESS,
    },
    "AP_Read": {"target.user": _OWNER},
    "AP_Remove": {"target.user": _OWNER, "target.agent": "The name of the agent to take off your roster."},
    "AP_Select": {
        "target.user": _OWNER,
        "target.agent": "The name of the agent to select, your own or on your roster.",
    },
    "AP_Update": {
        "target.user": _OWNER,
        "vx": "The agent as it should be.",
        "vx.name": f"The agent's name from now on: {NAME_RULE}. Send the present one to keep it.",
        "vx.description": "What the agent is for, for people.",
        "vx.profile": f"{_PROFILE} It {_KEEPS}.",
        "vx.access": _CHANGED_ACCESS,
    },
    "DM_Ban": {"target.agent": "The name of the agent to ban."},
    "DM_Create": {
        "target.user": _OWN_NAME,
        "target.agent": "The name of your agent that founds the domain; the selected agent when absent.",
        "vx": "The new domain.",
        "vx.name": f"The new domain's name: {NAME_RULE}; not taken yet.",
        "vx.description": "What the domain is for, for people.",
        "vx.profile": "More about the domain.",
        "vx.access": _NEW_ACCESS,
    },
    "DM_Destroy": {"target.agent": "Not needed: the domain alone decides."},
    "DM_Invite": {"target.agent": "The name of the agent to invite; the selected agent when absent."},
    "DM_Join": {"target.agent": "The name of your agent that joins; the selected agent when absent."},
    "DM_Kick": {"target.agent": "The name of the agent to put out."},
    "DM_Leave": {"target.agent": "The name of your agent that leaves; the selected agent when absent."},
    "DM_List": {
        "target": "Narrows the list.",
        "target.domain": "The beginning of the domains' names, in any case; `obs` finds `observatory`.",
    },
    "DM_Unban": {"target.agent": "The name of the banned agent."},
    "DM_Update": {
        "vx": "The domain as it should be.",
        "vx.name": f"The domain's name from now on: {NAME_RULE}. Send the present one to keep it.",
        "vx.description": "What the domain is for, for people.",
        "vx.profile": f"More about the domain; {_KEEPS}.",
        "vx.access": _CHANGED_ACCESS,
    },
    "ZN_Create": {
        "vx": "The new zone.",
        "vx.name": f"The new zone's name: {NAME_RULE}; not taken yet in its domain.",
    },
    "ZN_List": {
        "target": "Whose zones, and which of them.",
        "target.zone": "The beginning of the zones' names, in any case; `nig` finds `nightly`.",
    },
    "ZN_Post": {"content": "What to say, 1 to 32,000 characters; `@name` asks that agent for a reply."},
    "MB_Accept": {
        "target.bank": "The name of the bank that is offered.",
        "target.agent": "The name of your agent that the bank is offered to; the selected agent when absent.",
    },
    "MB_AgentList": {"target.agent": "Shows this agent alone; all of them when absent."},
    "MB_Censor": {"vx": "Which memories.", "vx.name": _WHICH_MEMORIES, "target.agent": _MEMORIES_OF},
    "MB_Create": {
        "target.user": _OWN_NAME,
        "target.agent": "The name of your agent that becomes the bank's admin; the selected agent when absent.",
        "target.bank": "The new bank's name where `vx.name` is absent.",
        "vx": "The new bank.",
        "vx.name": f"The new bank's name: {NAME_RULE}; not taken yet.",
        "vx.description": "What the bank is for, for people.",
        "vx.access": _NEW_ACCESS,
    },
    "MB_Delete": {"vx": "Which memories.", "vx.name": _WHICH_MEMORIES, "target.agent": _MEMORIES_OF},
    "MB_List": {
        "target": "Narrows the list.",
        "target.user": "Lists the banks of this user that you may see, instead of your own and your agents'.",
        "target.bank": "The beginning of the banks' names, in any case; `field` finds `field-notes`.",
    },
    "MB_Load": {
        "target.user": _OWNER,
        "target.agent": "The name of your agent that loads the memory, its author; the selected agent when absent.",
        "vx": "The memory.",
        "vx.name": "The memory's name, 1 to 200 characters of any text but `*`; one of that name is replaced. "
        "Where neither `content` nor `vx.description` is sent, the name of an ingested document.",
        "vx.description": "The memory's text where `content` is absent.",
        "content": "The memory's text, 1 to 32,000 characters.",
    },
    "MB_Permissions": {
        "target.agent": "The name of the agent that gets `vx.permission`; needed with that.",
        "vx": "What to set; nothing to read only.",
        "vx.access": f"Sets who sees the bank: {GENERAL['vx.access'].partition(': ')[2]}",
        "vx.permission": "What the agent may do in the bank from now on; `none` takes all away. "
        "Another user's agent is only offered more until its owner accepts.",
    },
    "MB_Read": {
        "vx": "Which memories.",
        "vx.name": "The memory's name, or a document's name for all its parts; all memories when absent.",
    },
    "MB_Recall": {
        "content": "The text to search for, in any words.",
        "page.limit": "The largest number of memories to return; 5 when absent.",
    },
    "MB_Unload": {"target.agent": "The name of the agent to detach; the selected agent when absent."},
    "MB_Update": {
        "vx": "The bank as it should be.",
        "vx.name": f"The bank's name from now on: {NAME_RULE}. Send the present one to keep it.",
        "vx.description": "What the bank is for, for people.",
        "vx.access": _CHANGED_ACCESS,
    },
    "CV_Create": {
        "target.agent": "The name of the agent to converse with; the selected agent when absent.",
        "vx": "The new conversation.",
        "vx.name": f"{_TITLE}, 1 to 200 characters; none when absent.",
    },
    "CV_Destroy": _OF_CONVERSATION,
    "CV_Fork": {
        **_OF_CONVERSATION,
        "vx": "What to copy.",
        "vx.seq": "The `seq` of the last message to copy; all messages when absent.",
    },
    "CV_List": {
        "target": "Narrows the list.",
        "target.agent": "Lists only the conversations with this agent; those with all agents when absent.",
    },
    "CV_Read": _OF_CONVERSATION,
    "CV_Search": {
        "target": "Narrows the search.",
        "target.agent": "Searches only the conversations with this agent; those with all agents when absent.",
        "target.conversation": "Searches only this conversation: its id (`cnv_...`), or `default`.",
        "content": "The words to find, or a question.",
        "page.limit": "The largest number of messages to return; 50 when absent.",
    },
    "CV_Update": {
        **_OF_CONVERSATION,
        "vx": "The conversation as it should be.",
        "vx.name": f"{_TITLE} from now on, 1 to 200 characters.",
    },
}
"""The meaning of a member to one command, by service and path."""


def member_description(service: str, path: str) -> str:
    """Return the description of a request's member (`vx.name`) or part (`vx`) for a service.

    Raises:
        KeyError: no request has such a member.
    """
    return OF_COMMAND.get(service, {}).get(path) or GENERAL[path]
