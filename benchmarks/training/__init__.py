"""The parts of the training benchmark; `train.py` in the parent folder uses them."""
