/* A variable of D cannot be static. */
static int i;
BEGIN { exit(0); }
