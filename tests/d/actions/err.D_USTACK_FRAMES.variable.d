/* The number of frames must be a constant. */
BEGIN { n = 5; ustack(n); }
