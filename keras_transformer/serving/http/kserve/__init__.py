"""The second version of KServe's inference protocol, which Triton speaks, over all signatures."""
