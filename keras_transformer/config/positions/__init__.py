"""How attention reads the places of tokens, as frozen, validated values."""
