"""The flows of the commands: each runs in its request's own task and asks one actor after another (design 2.2)."""
