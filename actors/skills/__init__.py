"""Skills in the Agent Skills format (agentskills.io/specification): reading, checking, keeping them."""
