/* A clause cannot call speculate twice. */
BEGIN { speculate(1); speculate(2); }
