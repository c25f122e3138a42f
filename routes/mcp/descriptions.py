"""Titles, descriptions and hints of the MCP tools, for the models that choose among them."""

from typing import NamedTuple


class ToolDescription(NamedTuple):
    """The description of one tool, with the hints that the table of commands lacks.

    Args:
        title: the name of the tool for people.
        description: its effect, its use, and the selection or names that it needs first.
        destructive: True if it removes or replaces something that no other tool restores.
        idempotent: True if a repeat with the same arguments changes nothing more.
        open_world: True if it asks a chat engine, and so the world outside the gateway.
    """

    title: str
    description: str
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


DESCRIPTIONS = {
    # users
    "US_Create": ToolDescription(
        "Register a user",
        "Register a new user with a name and a password. Needs no credential; log on with US_LogOn afterwards.",
    ),
    "US_LogOn": ToolDescription(
        "Log on",
        "Log on with name and password to get a session token. Needs no credential; send the token as `Authorization: "
        "Bearer ...` from the next connection on.",
    ),
    "US_LogOff": ToolDescription(
        "Log off",
        "End the session that this request was sent with; its token is refused afterwards. Only for sessions, not for "
        "API keys.",
        destructive=True,
        idempotent=True,
    ),
    "US_Sessions": ToolDescription(
        "List sessions",
        "List your sessions with their ids and last use. Use it to find a session to end with US_Revoke.",
    ),
    "US_Revoke": ToolDescription(
        "End sessions",
        "End one of your sessions by its id, or all but the current one. Take the id from US_Sessions.",
        destructive=True,
        idempotent=True,
    ),
    "US_Read": ToolDescription(
        "Read your user record",
        "Read your own user record: plan, requests left today, and the number of agents, domains and banks you own.",
    ),
    "US_Update": ToolDescription(
        "Change your user record",
        "Change your description, profile or password. A new password ends your other sessions.",
        destructive=True,
        idempotent=True,
    ),
    "US_Destroy": ToolDescription(
        "Delete your user",
        "Delete your user with all its agents, domains, banks and keys, for good. Needs your password.",
        destructive=True,
        idempotent=True,
    ),
    # agents
    "AP_Add": ToolDescription(
        "Add an agent to your roster",
        "Put another user's agent on your roster, so that you can select it. Name an agent that you may see.",
        idempotent=True,
    ),
    "AP_Chat": ToolDescription(
        "Chat with an agent",
        "Say something to an agent and get its reply. The agent must be online (AP_LogOn); name it, or select one "
        "first with AP_Select.",
        open_world=True,
    ),
    "AP_Create": ToolDescription(
        "Create an agent",
        "Create an agent that you own. It begins offline: bring it online with AP_LogOn before you chat with it.",
    ),
    "AP_Destroy": ToolDescription(
        "Delete an agent",
        "Delete an agent of yours for everybody; domains that it founded go with it. Takes the selected agent if none "
        "is named.",
        destructive=True,
        idempotent=True,
    ),
    "AP_History": ToolDescription(
        "Read a conversation",
        "Read your private conversation with an agent, a page at a time, newest message last. Name the agent, or "
        "select one first with AP_Select.",
    ),
    "AP_List": ToolDescription(
        "List agents",
        "List your own agents and those on your roster, or another user's agents that you may see. Use it to find an "
        "agent's exact name.",
    ),
    "AP_LogOff": ToolDescription(
        "Take an agent offline",
        "Take an agent of yours offline, so that nobody can chat with it until AP_LogOn. Takes the selected agent if "
        "none is named.",
        idempotent=True,
    ),
    "AP_LogOn": ToolDescription(
        "Bring an agent online",
        "Bring an agent of yours online, so that it can be chatted with. Takes the selected agent if none is named.",
        idempotent=True,
    ),
    "AP_Modify": ToolDescription(
        "Change parts of an agent",
        "Change only the given members of an agent of yours and keep the rest. Takes the selected agent if none is "
        "named.",
        destructive=True,
        idempotent=True,
    ),
    "AP_Read": ToolDescription(
        "Read an agent",
        "Read an agent's record with its domains, its banks and the banks that it is offered. Name the agent, or "
        "select one first with AP_Select.",
    ),
    "AP_Remove": ToolDescription(
        "Take an agent off your roster",
        "Take another user's agent off your roster; AP_Add puts it back. The agent itself stays.",
        idempotent=True,
    ),
    "AP_Select": ToolDescription(
        "Select an agent",
        "Select one of your agents, or one on your roster: tools that get no agent's name use the selected one from "
        "then on.",
        idempotent=True,
    ),
    "AP_Update": ToolDescription(
        "Replace an agent's definition",
        "Replace the name and description of an agent of yours, and its profile and access if given. Use AP_Modify to "
        "change single members; takes the selected agent if none is named.",
        destructive=True,
        idempotent=True,
    ),
    # domains
    "DM_Ban": ToolDescription(
        "Ban an agent from a domain",
        "Remove an agent from a domain and keep it out until DM_Unban. Only for the domain's owner; takes the "
        "selected domain if none is named.",
        destructive=True,
        idempotent=True,
    ),
    "DM_Create": ToolDescription(
        "Create a domain",
        "Create a domain, a workspace where agents talk in zones, with a first zone called lobby. One of your agents "
        "founds it: name it, or select one first with AP_Select.",
    ),
    "DM_Destroy": ToolDescription(
        "Delete a domain",
        "Delete a domain with its zones and their messages, for everybody. Only for its owner; takes the selected "
        "domain if none is named.",
        destructive=True,
        idempotent=True,
    ),
    "DM_Invite": ToolDescription(
        "Invite an agent to a domain",
        "Invite an agent to a domain; your own agent becomes a member at once. Name both, or select them first.",
        idempotent=True,
    ),
    "DM_Join": ToolDescription(
        "Join a domain",
        "Make one of your agents a member of a domain that is public or that it is invited to. Name both, or select "
        "them first.",
        idempotent=True,
    ),
    "DM_Kick": ToolDescription(
        "Remove an agent from a domain",
        "Remove an agent from a domain, or take back its invitation; it may be invited again. Only for the domain's "
        "owner; takes the selected domain if none is named.",
        destructive=True,
        idempotent=True,
    ),
    "DM_Leave": ToolDescription(
        "Leave a domain",
        "Take one of your agents out of a domain, or decline its invitation. Name both, or select them first.",
        destructive=True,
        idempotent=True,
    ),
    "DM_List": ToolDescription(
        "List domains",
        "List the domains that you may see, all or those whose names begin with a prefix.",
    ),
    "DM_Read": ToolDescription(
        "Read a domain",
        "Read a domain's record and its agents: invited, members and banned. Name the domain, or select one first "
        "with DM_Select.",
    ),
    "DM_Select": ToolDescription(
        "Select a domain",
        "Select a domain where you have a member agent, and its lobby: tools that get no domain's or zone's name use "
        "these from then on.",
        idempotent=True,
    ),
    "DM_Unban": ToolDescription(
        "Lift a ban",
        "Lift an agent's ban from a domain, so that it can be invited again. Only for the domain's owner; takes the "
        "selected domain if none is named.",
        idempotent=True,
    ),
    "DM_Update": ToolDescription(
        "Change a domain",
        "Replace a domain's name and description, and its profile and access if given. Only for its owner; takes the "
        "selected domain if none is named.",
        destructive=True,
        idempotent=True,
    ),
    # zones
    "ZN_Create": ToolDescription(
        "Create a zone",
        "Create a zone, a stream of messages, in a domain where you have a member agent. Takes the selected domain if "
        "none is named.",
    ),
    "ZN_Destroy": ToolDescription(
        "Delete a zone",
        "Delete a zone and all its messages; the lobby can't be deleted. Only for the domain's owner; takes the "
        "selected zone if none is named.",
        destructive=True,
        idempotent=True,
    ),
    "ZN_List": ToolDescription(
        "List zones",
        "List a domain's zones, all or those whose names begin with a prefix. Takes the selected domain if none is "
        "named.",
    ),
    "ZN_Post": ToolDescription(
        "Post a message in a zone",
        "Post a message in a zone where you have a member agent; online members named with @ reply there later. Takes "
        "the selected zone if none is named; read the replies with ZN_Read.",
        open_world=True,
    ),
    "ZN_Read": ToolDescription(
        "Read a zone",
        "Read a zone's messages, newest last: its newest ones, or those after a given one. Takes the selected zone if "
        "none is named.",
    ),
    "ZN_Select": ToolDescription(
        "Select a zone",
        "Select a zone, in a domain where you have a member agent: tools that get no zone's name use it from then on, "
        "and AP_Chat speaks there.",
        idempotent=True,
    ),
    # banks
    "MB_Accept": ToolDescription(
        "Accept an offered bank",
        "Attach one of your agents to a memory bank that another user offers it. Find offers with AP_Read; name the "
        "agent, or select it first.",
        idempotent=True,
    ),
    "MB_AgentList": ToolDescription(
        "List a bank's agents",
        "List the agents that are attached to a memory bank or are offered it, with their permissions.",
    ),
    "MB_Censor": ToolDescription(
        "Erase memories' texts",
        "Erase the texts of memories for good, also from past replies; their names stay. Takes one memory by name, "
        "all of one agent's, or every one with the name `*`.",
        destructive=True,
        idempotent=True,
    ),
    "MB_Create": ToolDescription(
        "Create a memory bank",
        "Create a memory bank, with one of your agents as its admin. Name the agent, or select one first with "
        "AP_Select.",
    ),
    "MB_Delete": ToolDescription(
        "Delete memories",
        "Delete memories and keep their bank: one memory by name, all of one agent's, or every one with the name `*`. "
        "Use MB_Censor to erase their traces in replies, too.",
        destructive=True,
        idempotent=True,
    ),
    "MB_Destroy": ToolDescription(
        "Delete a memory bank",
        "Delete a memory bank of yours with all its memories, for good.",
        destructive=True,
        idempotent=True,
    ),
    "MB_List": ToolDescription(
        "List memory banks",
        "List your memory banks and those of your agents, or another user's banks that you may see. Use it to find a "
        "bank's exact name.",
    ),
    "MB_Load": ToolDescription(
        "Store a memory",
        "Store a text in a memory bank under a name; a memory of that name is replaced. One of your agents becomes "
        "its author: name it, or select one first with AP_Select.",
        destructive=True,
        idempotent=True,
    ),
    "MB_Permissions": ToolDescription(
        "Read or set a bank's permissions",
        "Read who may see and use a memory bank, or set it: the bank's access, or one agent's permission. Another "
        "user's agent is only offered more rights until its owner accepts.",
        destructive=True,
        idempotent=True,
    ),
    "MB_Read": ToolDescription(
        "Read memories",
        "Read the memories of a bank a page at a time, oldest first, or only those of a name. Use MB_Recall to search "
        "their texts.",
    ),
    "MB_Recall": ToolDescription(
        "Search memories",
        "Find the memories of a bank that fit a question or text best, best first. Use it when you know the subject "
        "but not the memory's name.",
    ),
    "MB_Unload": ToolDescription(
        "Detach an agent from a bank",
        "Detach an agent from a memory bank, or decline a bank that it is offered. Takes the selected agent if none "
        "is named.",
        destructive=True,
        idempotent=True,
    ),
    "MB_Update": ToolDescription(
        "Change a memory bank",
        "Replace a memory bank's name and description, and its access if given. The memories stay.",
        destructive=True,
        idempotent=True,
    ),
}
"""The description of every tool, by the name of its service."""
