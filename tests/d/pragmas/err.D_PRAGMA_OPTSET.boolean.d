/* An unknown value of a boolean option is refused. */
#pragma D option quiet=perhaps
BEGIN { exit(0); }
