/* #pragma D attributes must name an identifier that exists. */
#pragma D attributes Stable/Stable/Common nosuch
BEGIN { exit(0); }
