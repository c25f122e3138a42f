"""The fork server of the tests: its children are like processes that the interpreter starts."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.fork_server import Start
from tests.support.forked import Forked, ForkedProcess

TELL = """
import json, os, random, signal, sys, threading
from actors.ids import new_id
handlers = {name: repr(signal.getsignal(getattr(signal, name))) for name in ("SIGINT", "SIGTERM", "SIGCHLD", "SIGPIPE")}
mask = os.umask(0)
json.dump({
    "name": __name__, "argv": sys.argv, "folder": os.getcwd(), "path": sys.path[0], "umask": mask, "handlers": handlers,
    "environment": dict(os.environ), "threads": threading.active_count(), "input": sys.stdin.read(),
    "random": random.random(), "id": new_id("msg")[-15:], "files": sorted(os.listdir("/proc/self/fd"), key=int),
    "wakeup": signal.set_wakeup_fd(-1), "masked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "group": os.getpgrp(),
}, sys.stdout)
"""


async def run(folder: Path, code: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run code as a script in a child of the fork server; return its exit status and its output."""
    script, log = folder / "script.py", folder / "log"
    script.write_text(code)
    log.unlink(missing_ok=True)
    process = await ForkedProcess.start(
        Start(str(script), arguments, environment, str(folder), umask=0o027, log=str(log))
    )
    status = await asyncio.wait_for(process.wait(), 60)
    assert process.returncode == status
    return status, log.read_text()


async def told(folder: Path) -> dict[str, Any]:
    status, said = await run(folder, TELL, "one", "--two", ONLY="this")
    assert status == 0, said
    return json.loads(said)


async def test_a_child_is_set_up_as_a_process_of_its_own(tmp_path: Path):
    found = await told(tmp_path)
    assert found["name"] == "__main__"
    assert found["argv"] == [str(tmp_path / "script.py"), "one", "--two"]
    assert (found["folder"], found["path"], found["umask"]) == (str(tmp_path), str(tmp_path), 0o027)
    assert found["environment"] == {"ONLY": "this"}
    assert (found["threads"], found["input"], found["wakeup"], found["masked"]) == (1, "", -1, [])
    assert found["group"] == os.getpgrp()
    assert found["handlers"] == {
        "SIGINT": repr(signal.default_int_handler),
        "SIGTERM": repr(signal.SIG_DFL),
        "SIGCHLD": repr(signal.SIG_DFL),
        "SIGPIPE": repr(signal.SIG_IGN),
    }
    assert len(found["files"]) == 4  # input, output, errors, and the folder that is listed


async def test_a_program_of_the_client_has_streams_of_its_own(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "import json, os, sys\n"
        "import parley_client.cli.main\n"
        "print('On stderr', file=sys.stderr)\n"
        "files = sorted(os.listdir('/proc/self/fd'), key=int)\n"
        "json.dump([sys.argv[1:], sys.stdin.read(), dict(os.environ), files], sys.stdout)\n"
        "sys.exit(3)\n"
    )
    running = await asyncio.gather(
        *(Forked.start(script, [name], {"ONLY": name}, name.encode()) for name in ("one", "two")),
        Forked.start(script, [], {}),
    )
    ended = [await forked.communicate() for forked in running]
    assert [(status, err) for status, _, err in ended] == [(3, b"On stderr\n")] * 3
    files = ["0", "1", "2", "3"]  # input, output, errors, and the folder that is listed
    assert [json.loads(out) for _, out, _ in ended] == [
        [["one"], "one", {"ONLY": "one"}, files],
        [["two"], "two", {"ONLY": "two"}, files],
        [[], "", {}, files],
    ]


async def test_no_two_children_have_the_same_random_numbers(tmp_path: Path):
    first, second = await told(tmp_path), await told(tmp_path)
    assert first["random"] != second["random"]
    assert first["id"] != second["id"]


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("raise RuntimeError('in a script')", 1, "RuntimeError: in a script\n"),
        ("import atexit; atexit.register(print, 'at exit')", 0, "at exit\n"),
        ("import os; os.abort()", -signal.SIGABRT, ""),
    ],
)
async def test_an_exit_is_told_as_it_was(tmp_path: Path, code: str, status: int, said: str):
    found, log = await run(tmp_path, code)
    assert found == status
    assert log.endswith(said)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_signal_ends_a_child_and_nothing_else(tmp_path: Path, number: signal.Signals):
    (tmp_path / "script.py").write_text("import time; time.sleep(60)")
    start = Start(str(tmp_path / "script.py"), (), {}, str(tmp_path), 0o022, str(tmp_path / "log"))
    first, second = await ForkedProcess.start(start), await ForkedProcess.start(start)
    first.send_signal(number)
    assert await asyncio.wait_for(first.wait(), 60) == -number
    assert second.returncode is None
    second.kill()
    assert await asyncio.wait_for(second.wait(), 60) == -signal.SIGKILL
    second.kill()  # of no effect


async def test_the_end_of_the_test_process_ends_the_fork_server_and_its_children(tmp_path: Path):
    (tmp_path / "script.py").write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    start = Start(str(tmp_path / "script.py"), (), {}, str(tmp_path), 0o022, str(tmp_path / "log"))
    code = (
        "import asyncio, os, sys\n"
        "from tests.support.fork_server import Start\n"
        "from tests.support.forked import ForkedProcess\n"
        "async def main():\n"
        f"    process = await ForkedProcess.start(Start(**__import__('json')"
        f".loads({start.line().decode()!r})))\n"
        "    print(process.pid, flush=True)\n"
        "    os._exit(0)\n"
        "asyncio.run(main())\n"
    )
    (tmp_path / "parent.py").write_text(code)
    log = tmp_path / "parent.log"
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PATH": os.environ["PATH"]}
    parent = await ForkedProcess.start(
        Start(str(tmp_path / "parent.py"), (), environment, str(tmp_path), 0o022, str(log))
    )
    assert await asyncio.wait_for(parent.wait(), 60) == 0, log.read_text()
    pid = int(log.read_text())
    async with asyncio.timeout(60):
        while is_alive(pid):
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False
