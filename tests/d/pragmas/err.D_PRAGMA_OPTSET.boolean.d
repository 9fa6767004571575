/* A boolean option takes a word that is known. */
#pragma D option quiet=perhaps
BEGIN { exit(0); }
