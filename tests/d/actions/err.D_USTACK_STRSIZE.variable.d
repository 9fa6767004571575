/* The string size of ustack must be a constant. */
BEGIN { n = 5; ustack(5, n); }
