/* An aggregation is not traced. */
BEGIN { @a = count(); trace(@a); }
