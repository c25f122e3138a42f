"""Sessions and API keys: credentials, and the selection that each of them holds."""
