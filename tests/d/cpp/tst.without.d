/*
 * Without -C, a script is not preprocessed, but #line and #pragma are accepted.
 * @flags: -q
 */
#pragma D option quiet
#line 40 "elsewhere.d"
BEGIN { printf("fine\n"); exit(0); }
