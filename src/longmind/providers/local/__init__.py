"""Models that run on this machine with onnxruntime."""
