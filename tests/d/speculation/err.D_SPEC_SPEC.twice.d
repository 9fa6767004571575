/* A clause may call speculate only once. */
BEGIN { speculate(1); speculate(2); }
