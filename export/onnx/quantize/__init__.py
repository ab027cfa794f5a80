"""Precisions: int8 and float16 in place of float32."""
