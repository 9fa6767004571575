/* An aggregation alone is not a statement. */
BEGIN { @a = count(); @a; }
