/* A D variable cannot be static. */
static int i;
BEGIN { exit(0); }
