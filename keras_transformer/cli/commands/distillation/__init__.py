"""The subcommand that makes a small model from a large one."""
