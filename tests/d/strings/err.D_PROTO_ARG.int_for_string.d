/* strlen takes no number. */
BEGIN { exit(strlen(5)); }
