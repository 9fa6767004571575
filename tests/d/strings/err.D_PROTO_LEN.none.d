/* strlen takes one string. */
BEGIN { exit(strlen()); }
