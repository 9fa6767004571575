/* strlen takes exactly one argument. */
BEGIN { exit(strlen()); }
