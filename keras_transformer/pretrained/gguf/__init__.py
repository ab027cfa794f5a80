"""Models in llama.cpp's GGUF: the file, the architectures and the vocabularies that it holds."""
