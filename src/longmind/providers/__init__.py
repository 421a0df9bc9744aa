"""Models that Longmind asks: embedders, rerankers and language models, local and remote."""
