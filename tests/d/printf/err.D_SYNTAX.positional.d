/* Positional conversions, such as %1$d, are refused. */
BEGIN { printf("%1$d\n", 1); }
