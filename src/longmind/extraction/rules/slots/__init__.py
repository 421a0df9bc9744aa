"""Slots: the attribute of a statement whose value may change, such as a phone number or a home town."""
