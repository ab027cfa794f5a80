"""The subcommands of `keras-transformer`, one a file."""
