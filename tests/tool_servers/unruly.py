"""A stdio tool server that misbehaves on demand: at the start by its argument, in a call by the tool.

It does without the SDK, which would prevent that.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = (
    *("echo", "crash", "hang", "flood_notifications", "flood_line", "flood_requests", "big", "garbage"),
    *("wrong_id", "error", "fails", "no_content", "input_required", "spawn", "environment", "slow", "pattern", "deaf"),
    *("refuse", "wait", "release", "shaped", "flood_blank"),
)
WAITING: list[Any] = []
EVIL = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}


def send(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(number: Any, value: Any) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": value})


def text(number: Any, words: str, **more: Any) -> None:
    result(number, {"content": [{"type": "text", "text": words}], **more})


def notification() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 50}}


def call(number: Any, tool: str, arguments: dict[str, Any]) -> None:
    match tool:
        case "echo":
            text(number, str(arguments.get("text")))
        case "crash":
            os._exit(3)
        case "hang":
            time.sleep(1e6)
        case "slow":
            time.sleep(float(arguments["seconds"]))
            text(number, "at last")
        case "flood_notifications":
            while True:
                send(notification())
        case "flood_line":
            while True:
                sys.stdout.write("x" * 65_536)
        case "flood_blank":
            while True:
                sys.stdout.write("  \n" * 20_000)
        case "flood_requests":
            for request in range(900):
                send({"jsonrpc": "2.0", "id": f"r{request}", "method": "sampling/createMessage", "params": {}})
            text(number, "asked a lot")
        case "big":
            text(number, "x" * 2_000_000)
        case "garbage":
            sys.stdout.write("this is no JSON\n" * 3)
            sys.stdout.flush()
        case "wrong_id":
            text(f"{number}-other", "for whom?")
        case "error":
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "out of\r\norder"}})
        case "fails":
            text(number, "I can't", isError=True)
        case "no_content":
            result(number, {"what": "is this?"})
        case "input_required":
            result(number, {"resultType": "input_required", "inputRequests": {}, "requestState": "x"})
        case "spawn":
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            text(number, str(child.pid))
        case "environment":
            text(number, json.dumps(dict(os.environ)))
        case "shaped":
            items = ",".join([arguments["item"]] * arguments["count"])
            whole = f'{{"jsonrpc":"2.0","id":{number},"result":{arguments["head"]}{items}{arguments["tail"]}}}'
            sys.stdout.write(whole + "\n")
            sys.stdout.flush()
        case "refuse":
            send({"jsonrpc": "2.0", "id": number, "error": arguments})
        case "wait":
            WAITING.append(number)
        case "release":
            for waiting in (*WAITING, number):
                text(waiting, "released")
        case "pattern":
            text(number, "checked by whom?", structuredContent={"s": "a" * 40 + "!"})
        case _:
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": f"no tool {tool}"}})


def list_tools(number: Any, mode: str, params: dict[str, Any]) -> None:
    tools: list[Any] = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
    next(tool for tool in tools if tool["name"] == "pattern")["outputSchema"] = EVIL
    match mode:
        case "too_many":
            tools = [{"name": f"t{count}", "inputSchema": {"type": "object"}} for count in range(300)]
        case "too_large":
            tools = [{"name": "large", "description": "x" * 600_000, "inputSchema": {"type": "object"}}]
        case "no_tools":
            result(number, {"tools": "none"})
            return
        case "endless":
            page = int(params.get("cursor") or 0)
            result(number, {"tools": [], "nextCursor": str(page + 1)})
            return
    odd = [{"name": name, "inputSchema": {"type": "object"}} for name in ("", "two words", "x" * 200, "nul\0", "echo")]
    result(number, {"tools": tools + odd})


def start_gated(folder: Path) -> None:
    """Count the start in a folder's file `starts`, then fail while it has a file `fails`, and wait for one `gate`."""
    with (folder / "starts").open("a") as starts:
        starts.write("x")
    if (folder / "fails").exists():
        sys.exit(1)
    while not (folder / "gate").exists():
        time.sleep(0.01)


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "exits":
        sys.exit(1)
    if mode == "gated":
        start_gated(Path(sys.argv[2]))
    if mode == "silent":
        time.sleep(1e6)
    if mode == "babbles":
        sys.stdout.write("Welcome to my server!\n" * 200)
        sys.stdout.flush()
    if mode == "floods":
        while True:
            send(notification())
    for line in sys.stdin:
        message = json.loads(line)
        number, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                served = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
                result(number, {**served, "serverInfo": {"name": "unruly", "version": "1"}})
            case "tools/list":
                list_tools(number, mode, params)
            case "tools/call":
                call(number, params["name"], params.get("arguments") or {})
            case "ping":
                result(number, {})
            case _ if number is not None and "method" in message:
                send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
