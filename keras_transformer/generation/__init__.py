"""Continues texts and tells how probable they are, on any engine of a decoder alone."""
