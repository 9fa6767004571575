/* printf takes no aggregation. */
BEGIN { @a = count(); printf("%d\n", @a); }
