"""The proof that an artefact's graphs give the model's numbers."""
