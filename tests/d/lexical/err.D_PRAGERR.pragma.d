/* #pragma error does what #error does. */
#pragma error stop here
BEGIN { exit(0); }
