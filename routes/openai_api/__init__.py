"""The OpenAI API: models, chat completions and responses, answered by agents (docs/openai.md)."""
