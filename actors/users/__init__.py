"""Users: accounts, passwords, rosters and credentials."""
