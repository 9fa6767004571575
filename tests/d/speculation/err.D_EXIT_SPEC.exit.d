/* exit does not follow speculate. */
BEGIN { speculate(1); exit(0); }
