/*
 * #line names another file, which is not a header for that.
 */
#line 7 "other.d"
static int x;
BEGIN { exit(0); }
