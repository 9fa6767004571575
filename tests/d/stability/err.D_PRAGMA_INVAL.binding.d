/* The version of a name is an existing one. */
#pragma D binding "1.99" x
int x;
BEGIN { exit(0); }
