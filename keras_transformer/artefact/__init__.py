"""The contract between exporters and runtime: the files of an artefact and their meaning."""
