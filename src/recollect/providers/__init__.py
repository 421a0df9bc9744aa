"""What thinks for Recollect: embedders and language models."""
