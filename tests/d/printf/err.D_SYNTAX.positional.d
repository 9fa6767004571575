/* Conversions have no positions. */
BEGIN { printf("%1$d\n", 1); }
