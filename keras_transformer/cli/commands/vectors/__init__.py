"""The commands of static word vectors."""
