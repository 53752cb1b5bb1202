"""How often intervals hold what they are of: logs of many groups, of which the truth is known by integration."""
