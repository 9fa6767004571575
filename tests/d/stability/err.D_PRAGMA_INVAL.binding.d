/* #pragma D binding accepts only a version of D that exists. */
#pragma D binding "1.99" x
int x;
BEGIN { exit(0); }
