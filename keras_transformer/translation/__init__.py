"""Text in, translations out, over any engine that translates ids; needs numpy and sentencepiece."""
