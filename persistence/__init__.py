"""The store: its interface, a module of statements for each concept, and SQLite as the first implementation."""
