"""The operator's catalog of tool servers (MCP): commands to run for users, and their limits."""

import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from config.settings import Settings

BUILT_IN = "parley"
"""The name of the built-in entry, which the file can't use."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}[A-Za-z0-9]")


class CatalogError(Exception):
    """The catalog is unusable; the message has one line per problem."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)


class CatalogLimits(_Part):
    """Limits of all tool servers; times are in seconds."""

    processes: int = Field(32, ge=1, le=1_000)
    processes_per_user: int = Field(4, ge=1, le=16)
    connect_timeout_s: float = Field(20, gt=0, le=120)
    call_timeout_s: float = Field(60, gt=0, le=280)


class CatalogEntry(_Part):
    """A stdio server with its whole command, which runs without a shell."""

    command: Annotated[list[Annotated[str, Field(pattern=r"^[^\x00]+$")]], Field(min_length=1)]
    description: str = ""
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str | None = None

    @field_validator("env")
    @classmethod
    def _can_be_an_environment(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not name or "=" in name or "\x00" in name:
                raise ValueError(
                    f"{name!r} can't be a variable's name: use at least one character, but no = and no NUL"
                )
            if "\x00" in text:
                raise ValueError(f"the value of {name} has a NUL, which no variable can have")
        return value

    @field_validator("cwd")
    @classmethod
    def _is_a_folder(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).is_dir():
            raise ValueError("it must be a folder")
        return value

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        """Look for the program as the process will: from its folder, and in the PATH of its environment."""
        folder = self.cwd or os.curdir
        places = self.env.get("PATH", os.environ.get("PATH", os.defpath))
        from_here = os.pathsep.join(str(Path(folder, place)) for place in places.split(os.pathsep))
        program = self.command[0]
        if shutil.which(str(Path(folder, program)) if os.path.dirname(program) else program, path=from_here) is None:
            raise ValueError(f"command: {program!r} is no program that can be run")
        return self


class Catalog(_Part):
    """The contents of the catalog file."""

    limits: CatalogLimits = CatalogLimits()  # pyright: ignore[reportCallIssue]
    servers: dict[str, CatalogEntry] = Field(default_factory=dict)

    @field_validator("servers")
    @classmethod
    def _have_names(cls, value: dict[str, CatalogEntry]) -> dict[str, CatalogEntry]:
        for name in value:
            if not _NAME.fullmatch(name) or name == BUILT_IN:
                raise ValueError(f"{name!r} can't be a name: 2 to 64 letters, digits, _ or -; {BUILT_IN!r} is built in")
        return value


def load_catalog(settings: Settings) -> Catalog:
    """Read the catalog file of the settings; the default file may be absent.

    Raises:
        CatalogError: the file is unreadable, or has a wrong value.
    """
    path = settings.mcp_catalog
    try:
        with path.open("rb") as file:
            return Catalog.model_validate(tomllib.load(file))
    except OSError as error:
        if isinstance(error, FileNotFoundError) and "mcp_catalog" not in settings.model_fields_set:
            return Catalog()  # pyright: ignore[reportCallIssue]
        raise CatalogError(
            f"PARLEY_MCP_CATALOG is {str(path)!r} ({error.strerror or error}); name a readable TOML file"
        ) from None
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        lines = [f"{'.'.join(map(str, problem['loc']))} in {path}: {problem['msg']}" for problem in problems]
        raise CatalogError("\n".join(lines)) from None
    except ValueError as error:
        raise CatalogError(f"PARLEY_MCP_CATALOG is {str(path)!r} ({error}); name a readable TOML file") from None
