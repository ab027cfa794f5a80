"""What may stand in place of a decoder's self-attention: layers with a state of fixed size."""
