/* The end of a comment is an error outside a comment. */
BEGIN { exit(0); */ }
