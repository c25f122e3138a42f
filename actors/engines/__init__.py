"""Chat engines: they answer a message, given the agent, its memories and the conversation so far."""
