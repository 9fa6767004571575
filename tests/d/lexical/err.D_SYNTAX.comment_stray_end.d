/* The end of a comment needs its beginning. */
BEGIN { exit(0); */ }
