/* Conversions with positions are refused. */
BEGIN { printf("%1$d\n", 1); }
