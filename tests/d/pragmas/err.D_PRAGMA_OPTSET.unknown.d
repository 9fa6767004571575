/* An unknown option is refused. */
#pragma D option nosuchoption
BEGIN { exit(0); }
