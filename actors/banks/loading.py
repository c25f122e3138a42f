"""Loading: the memories that a load makes, and the writes that replace memories of the same names."""

from actors.banks.attachments import LEVELS, Attachments
from actors.banks.messages import LoadMemory, MemoryMoved
from actors.errors import NotPermitted
from actors.ids import new_id, new_number
from persistence import documents, memories
from persistence.banks import BankRow
from persistence.memories import MemoryRow, Part
from persistence.store import Write


def moved() -> MemoryMoved:
    """Make the error for a load whose memories have changed since they were read."""
    return MemoryMoved("Another request changes this memory at the same time; try again.")


def part_names(name: str, texts: tuple[str, ...]) -> list[str]:
    """Name the memories that a load makes: one for each text."""
    return [name] if len(texts) == 1 else [f"{name}/{number}" for number in range(1, len(texts) + 1)]


def require_may_load(message: LoadMemory, bank: BankRow, attachments: Attachments) -> bool:
    """Refuse an agent that may not write; return whether it is to be attached.

    Raises:
        NotPermitted: the agent is not the caller's own, or may not write in this bank.
    """
    viewer_id = message.viewer.user_id
    if message.agent_owner_id != viewer_id:
        raise NotPermitted("Memories are loaded by your own agents: name one as target.agent.")
    held = attachments.attached.get(message.agent_id)
    if bank.owner_id == viewer_id:
        return held is None
    if held is None or LEVELS[held.permission] < LEVELS["write"]:
        offered = attachments.offered.get(message.agent_id)
        advice = "one who may grants it with MB_Permissions"
        if offered is not None and LEVELS[offered.permission] >= LEVELS["write"]:
            advice = "accept what it is offered with MB_Accept"
        raise NotPermitted(f"{message.agent_name} may not write in {bank.name}; {advice}.")
    return False


def replacing(bank: BankRow, message: LoadMemory, now: int) -> tuple[tuple[MemoryRow, ...], list[Write]]:
    """Make the memories of a load, and the writes that replace memories of the same names."""
    before = {memory.name: memory for memory in message.before}
    names = part_names(message.name, message.texts)
    loaded: list[MemoryRow] = []
    writes = [memories.are_replaced(bank.id, message.name, names, len(before))]
    if message.document_id is not None:
        writes.append(documents.still_whole(message.document_id))
    for number, (name, text, terms) in enumerate(zip(names, message.texts, message.terms, strict=True), 1):
        replaced = before.pop(name, None)
        memory = MemoryRow(
            position=new_number() if replaced is None else replaced.position,
            id=new_id("mem", near=bank.id) if replaced is None else replaced.id,
            name=name,
            text=text,
            author_id=message.agent_id,
            author=message.agent_name,
            author_owner_id=message.agent_owner_id,
            censored=0,
            created_at=now if replaced is None else replaced.created_at,
            updated_at=now,
        )
        loaded.append(memory)
        part = None
        if message.document_id is not None:
            part = Part(message.document_id, number, message.name if len(names) > 1 else None)
        if replaced is None:
            writes += memories.add(bank.id, memory, terms, part)
        else:
            writes += memories.replace(memory, terms, part)
    writes += [memories.remove_uncensored(memory.position) for memory in before.values()]
    return tuple(loaded), writes
