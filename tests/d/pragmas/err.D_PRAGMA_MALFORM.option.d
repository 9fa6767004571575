/* #pragma D option names an option. */
#pragma D option
BEGIN { exit(0); }
