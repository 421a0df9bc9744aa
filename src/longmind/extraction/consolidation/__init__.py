"""Consolidation: facts that say the same are merged, what is over is closed, and a profile shows what is stable.

`merges` and `endings` decide what becomes of the facts of a space, and `job` carries it out. `profile_order` orders
the facts of a profile, which is computed whenever it is asked for and stored nowhere.
"""
