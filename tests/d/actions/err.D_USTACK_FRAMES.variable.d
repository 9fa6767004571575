/* The number of frames is a constant. */
BEGIN { n = 5; ustack(n); }
