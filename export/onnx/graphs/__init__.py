"""Graphs: what a model computes, as ONNX nodes for each target."""
