"""The Keras side of encoders and decoders alone: live models that read or continue texts."""
