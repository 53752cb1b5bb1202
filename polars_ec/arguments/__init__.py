"""The arguments of a call, each described and checked in one place: costs, priors, score types."""
