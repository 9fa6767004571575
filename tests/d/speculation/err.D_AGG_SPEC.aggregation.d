/* An aggregation cannot follow speculate. */
BEGIN { speculate(1); @a = count(); }
