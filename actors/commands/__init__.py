"""Commands: one module per group, each function with its row of the command table."""
