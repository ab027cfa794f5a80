"""What is served: models in versions, their signatures, and requests batched together."""
