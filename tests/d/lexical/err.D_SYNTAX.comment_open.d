/* A comment must be closed. */
BEGIN { exit(0); }
/* here to
stay
