/* A string alone cannot be a predicate. */
BEGIN / probename / { exit(0); }
