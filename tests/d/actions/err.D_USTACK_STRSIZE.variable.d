/* The string size of a stack must be a constant. */
BEGIN { n = 5; ustack(5, n); }
