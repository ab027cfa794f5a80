"""Soft terms (Dinu et al. 2019): translations that a source carries beside its terms, so that a
model inflects them: extracted from training text, written into it, and read at translation.
"""
