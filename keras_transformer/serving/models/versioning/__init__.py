"""The versions of a served model: the directories they come from, their states and their users."""
