"""Sessions and API keys: credentials, each with its own selection."""
