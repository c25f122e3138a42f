"""PostgreSQL: the store in a database of a server, its writer and its migrations."""
