/* The argument of exit must be a number. */
BEGIN { exit("a"); }
