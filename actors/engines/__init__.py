"""Chat engines: given an agent, what it remembers, the conversation so far and a message, they answer."""
