/* printf cannot print an aggregation. */
BEGIN { @a = count(); printf("%d\n", @a); }
