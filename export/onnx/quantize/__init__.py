"""Precisions of the graphs: float32, int8, bfloat16 and float16."""
