"""The command bus: commands, chat events and zone streams."""
