"""Deliberate attacks on a running Longmind: kills, lost power, full disks, cut networks, hostile input, size."""
