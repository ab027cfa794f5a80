"""The parts of the training benchmark; `train.py` beside this folder puts them together."""
