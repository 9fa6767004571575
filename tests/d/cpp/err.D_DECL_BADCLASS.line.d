/*
 * A file that is named only in a #line directive is not treated as a header.
 */
#line 7 "other.d"
static int x;
BEGIN { exit(0); }
