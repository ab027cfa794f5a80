"""Writes models as those of other toolkits: Marian's, Hugging Face's, CTranslate2's."""
