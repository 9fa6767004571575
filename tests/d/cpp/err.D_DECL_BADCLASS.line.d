/*
 * A file that only #line names is not treated as a header.
 */
#line 7 "other.d"
static int x;
BEGIN { exit(0); }
