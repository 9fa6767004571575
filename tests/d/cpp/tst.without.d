/*
 * Without -C a script is no text of C: lines of cpp alone are refused, but #line and #pragma.
 * @flags: -q
 */
#pragma D option quiet
#line 40 "elsewhere.d"
BEGIN { printf("fine\n"); exit(0); }
