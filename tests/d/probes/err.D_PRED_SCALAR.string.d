/* A string alone is no predicate. */
BEGIN / probename / { exit(0); }
