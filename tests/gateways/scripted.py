"""A gateway with a chat engine that runs the words of the message as instructions.

`say:TEXT` yields a piece, `read:PATH` the text of that file, `wait:PATH` waits until that file is there (and makes
PATH.reached), `recall:WORD` names the memories in its turn, `cite:WORD` draws on them without naming them, `fail`
raises, and `failonce:PATH` raises unless that file is there (and makes it).
@NAME is no instruction.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from actors.engines.turn import Piece, Recalled, Turn
from tests.gateways.parts import serve


class ScriptedEngine:
    name = "scripted"

    async def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        for step in turn.message.split(" "):
            verb, _, argument = step.partition(":")
            if verb == "say":
                yield argument
            elif verb == "read":
                yield Path(argument).read_text(encoding="utf-8")
            elif verb == "wait":
                await _wait_for(Path(argument))
            elif verb == "recall":
                yield ", ".join(memory.name for memory in turn.memories)
            elif verb == "cite":
                for memory in turn.memories:
                    yield Recalled(memory.position)
            elif verb.startswith("@") or (verb == "failonce" and Path(argument).exists()):
                continue
            else:
                if verb == "failonce":
                    Path(argument).touch()
                raise RuntimeError(f"the engine was told to {verb}")


async def _wait_for(gate: Path) -> None:
    gate.with_name(f"{gate.name}.reached").touch()
    while not gate.exists():
        await asyncio.sleep(0.01)


def scripted(*_: Any) -> ScriptedEngine:
    return ScriptedEngine()


if __name__ == "__main__":
    serve(engine=scripted)
