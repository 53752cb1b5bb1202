"""The arguments of a call: each described once and checked once; costs, priors, scales of scores."""
