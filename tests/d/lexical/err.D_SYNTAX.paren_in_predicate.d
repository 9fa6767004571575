/* A slash inside parentheses does not end a predicate. */
BEGIN / (1 / { exit(0); }
