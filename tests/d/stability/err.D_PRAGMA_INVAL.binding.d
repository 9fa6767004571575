/* The version of a name is one that has been. */
#pragma D binding "1.99" x
int x;
BEGIN { exit(0); }
