/* print cannot print an aggregation. */
BEGIN { @a = count(); print(@a); }
