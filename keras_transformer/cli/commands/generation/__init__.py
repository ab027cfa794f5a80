"""The commands that continue or score texts with a decoder; a file's name is the command's."""
