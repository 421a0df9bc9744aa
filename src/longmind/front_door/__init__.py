"""Memory in three lines, for programs that want memory and nothing to set up."""
