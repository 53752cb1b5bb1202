"""What a comparison is made of: what is compared with what, the joint pass over the log, and the spread of differences."""
