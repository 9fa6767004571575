/* #pragma D option must name an option. */
#pragma D option
BEGIN { exit(0); }
