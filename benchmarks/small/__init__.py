"""How good the defaults of training are on small corpora, beside configurations set by hand."""
