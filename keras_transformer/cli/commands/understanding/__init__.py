"""The commands that read texts with an encoder; the name of a file is the command's."""
