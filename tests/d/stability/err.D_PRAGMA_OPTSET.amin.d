/* amin has three parts. */
#pragma D option amin=Stable/Stable
BEGIN { exit(0); }
