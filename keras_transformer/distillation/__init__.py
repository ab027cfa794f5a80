"""Sequence-level distillation: a teacher's translations, the student's text, both compared."""
