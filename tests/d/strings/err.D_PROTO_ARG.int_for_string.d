/* strlen does not accept a number. */
BEGIN { exit(strlen(5)); }
