/* A clause cannot call speculate after commit. */
BEGIN { commit(1); speculate(1); }
