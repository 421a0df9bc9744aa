"""Attacks on a running Longmind, on purpose: kills, lost power, full disks, cut networks, hostile input, size."""
