"""Where a change between two periods comes from: the shares of the strata, the class priors, and what rows of a class are like."""
