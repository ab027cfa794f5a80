"""Training on single texts: masked and causal language models, classifiers."""
