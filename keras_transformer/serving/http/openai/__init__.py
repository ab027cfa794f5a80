"""OpenAI's API, and those of others that take its form: reranking and translations."""
