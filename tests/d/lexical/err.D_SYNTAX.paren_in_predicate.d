/* A predicate does not end inside parentheses. */
BEGIN / (1 / { exit(0); }
