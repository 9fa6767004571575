/* An unknown conversion is refused. */
BEGIN { printf("%y\n", 1); }
