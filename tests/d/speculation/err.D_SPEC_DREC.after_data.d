/* speculate does not follow what records. */
BEGIN { trace(1); speculate(1); }
