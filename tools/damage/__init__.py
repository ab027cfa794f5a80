"""A fuzzer of models of other toolkits and of manifests: damages files and tells what happens."""
