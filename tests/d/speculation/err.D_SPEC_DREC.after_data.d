/* A clause cannot call speculate after it has recorded data. */
BEGIN { trace(1); speculate(1); }
