"""Static word vectors: trained on text by word2vec, fastText, GloVe and Poincaré embeddings, read
from files of any of them, and compared.
"""
