"""Attacks on a running Recollect, on purpose: kills, lost power, full disks, cut networks, hostile input, size."""
