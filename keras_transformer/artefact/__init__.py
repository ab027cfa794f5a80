"""The contract between exporters and runtime: what an artefact's files are and mean."""
