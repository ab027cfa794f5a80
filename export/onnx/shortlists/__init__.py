"""Where shortlists come from: parallel text, or a file of Marian's or CTranslate2's."""
