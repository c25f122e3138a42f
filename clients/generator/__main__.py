"""`python -m clients.generator --check` fails when the client differs from the gateway; `--write` makes it anew."""

import argparse
import subprocess
import sys
from pathlib import Path

from actors.commands.table import COMMANDS, GROUPS
from clients.generator.records import records_module
from clients.generator.services import FILES, group_module, services_module
from clients.generator.synchronous import synchronous
from routes.openapi.document import document
from routes.openapi.schemas import RECORDS

CLIENT = Path(__file__).resolve().parents[1] / "python" / "src" / "parley_client"


def generated() -> dict[Path, str]:
    """Return the content of every generated file of the client."""
    kinds = {kind for command in COMMANDS.values() for kind in (command.profile, *command.content) if kind}
    names = [name for kind, (name, _) in RECORDS.items() if kind in kinds]
    modules = {f"{FILES[group]}.py": group_module(group) for group in GROUPS}
    made = {
        CLIENT / "records.py": records_module(document(), names),
        CLIENT / "_services.py": services_module(),
        **{CLIENT / "_async" / name: text for name, text in modules.items()},
    }
    made = {path: _formatted(path, text) for path, text in made.items()}
    by_hand = {path.name: path.read_text(encoding="utf-8") for path in (CLIENT / "_async").glob("*.py")}
    whole = by_hand | {name: made[CLIENT / "_async" / name] for name in modules}
    for name, text in synchronous(whole).items():
        path = CLIENT / "_sync" / name
        made[path] = _formatted(path, text)
    return made


def _formatted(path: Path, text: str) -> str:
    """Return a module as `make format` leaves it."""
    ruff = (sys.executable, "-m", "ruff")
    sort = (*ruff, "check", "--select", "I,F401", "--fix", "--quiet", "--stdin-filename", str(path), "-")
    for command in (sort, (*ruff, "format", "--quiet", "--stdin-filename", str(path), "-")):
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _stale(made: dict[Path, str]) -> list[str]:
    """Return the files that differ from what is generated, and those that are generated no longer."""
    found = {path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text}
    left = {path for path in (CLIENT / "_sync").glob("*.py") if path not in made}
    return sorted(str(path.relative_to(CLIENT)) for path in found | left)


def main() -> int:
    """Check or write the client's generated files."""
    parser = argparse.ArgumentParser(prog="python -m clients.generator", description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="fail if a generated file is stale")
    mode.add_argument("--write", action="store_true", help="write the generated files anew")
    writes = parser.parse_args().write
    made = generated()
    if stale := _stale(made):
        if not writes:
            print(f"stale files of the client, renew them with `make client`: {', '.join(stale)}", file=sys.stderr)
            return 1
        for path, text in made.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
