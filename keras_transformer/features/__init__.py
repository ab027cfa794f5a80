"""The states of trained models as features of words: computed, kept on disk, given to others."""
