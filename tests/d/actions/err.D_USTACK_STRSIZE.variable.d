/* The size of the strings of a stack is a constant. */
BEGIN { n = 5; ustack(5, n); }
