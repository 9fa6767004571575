/* #pragma D binding must name an identifier that exists. */
#pragma D binding "1.5" nosuch
BEGIN { exit(0); }
