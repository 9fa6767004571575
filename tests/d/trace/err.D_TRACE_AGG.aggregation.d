/* An aggregation cannot be traced. */
BEGIN { @a = count(); trace(@a); }
