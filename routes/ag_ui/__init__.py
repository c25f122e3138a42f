"""AG-UI 1.0: front ends talk to an agent and hear its answer as the protocol's events (https://docs.ag-ui.com)."""
