/* An option is one that is known. */
#pragma D option nosuchoption
BEGIN { exit(0); }
