"""Shortlists, learnt from parallel text or read from a file of Marian or CTranslate2."""
