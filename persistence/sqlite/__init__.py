"""SQLite: the store in one file, its writer and its migrations."""
