/* The number of frames of ustack must be a constant. */
BEGIN { n = 5; ustack(n); }
