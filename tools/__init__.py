"""What keeps the repository in order."""
