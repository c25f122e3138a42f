"""The numbered files of migrations, of any store."""

from pathlib import Path

from persistence.store import StoreError


def numbered(folder: Path) -> dict[int, Path]:
    """List the migrations of a folder by their numbers.

    Raises:
        StoreError: two files have the same number.
    """
    migrations: dict[int, Path] = {}
    for file in sorted(folder.glob("*.sql")):
        number = int(file.name.split("_", maxsplit=1)[0])
        if number in migrations:
            raise StoreError(
                f"two migrations have the number {number}: {migrations[number].name} and {file.name}; "
                "give the newer one the next free number"
            )
        migrations[number] = file
    return migrations
