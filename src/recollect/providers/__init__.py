"""What thinks for Recollect: embedders, and later language models and rerankers."""
