/* An aggregation is not a statement. */
BEGIN { @a = count(); @a; }
