"""Sources of parallel text: text files, TSV, TFDS, the demo corpus and streams."""
