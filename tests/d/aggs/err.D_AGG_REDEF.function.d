/* An aggregation cannot have two aggregating functions. */
BEGIN { @a = count(); @a = sum(1); }
