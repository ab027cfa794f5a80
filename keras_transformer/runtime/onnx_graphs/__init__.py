"""An artefact's graphs in onnxruntime: sessions, providers, operators, caches and decoder steps."""
