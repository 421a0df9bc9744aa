"""Commands of `longmind`, one module each."""
