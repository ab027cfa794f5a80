"""Vectors of tokens that are made of smaller weights than a matrix of all ids."""
