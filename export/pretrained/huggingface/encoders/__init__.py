"""The ways out of encoders alone, a family a file."""
