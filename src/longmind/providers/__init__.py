"""What thinks for Longmind: embedders and language models."""
