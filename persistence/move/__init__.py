"""The move of a whole database between SQLite and PostgreSQL: `python -m persistence.move FROM TO`."""
