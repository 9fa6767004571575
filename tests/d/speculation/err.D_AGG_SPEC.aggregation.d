/* Nothing is aggregated after speculate. */
BEGIN { speculate(1); @a = count(); }
