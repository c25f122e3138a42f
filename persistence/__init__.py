"""Where state is kept: the store's interface, and SQLite as its first implementation."""
