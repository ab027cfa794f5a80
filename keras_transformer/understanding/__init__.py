"""What an encoder says of texts, on any engine: vectors, classes, tags, spans and filled masks."""
