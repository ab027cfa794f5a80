"""Translation of texts with any engine that translates ids; needs numpy and sentencepiece."""
