"""The only place that speaks SQL: two engines behind one protocol, and units of work per noun."""
