/* An aggregation has one function. */
BEGIN { @a = count(); @a = sum(1); }
