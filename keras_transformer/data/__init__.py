"""Sources of parallel text (demo, files, tsv, tfds), their encoding, and tf.data batches."""
