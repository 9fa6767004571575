/* A comment has an end. */
BEGIN { exit(0); }
/* here to
stay
