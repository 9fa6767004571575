/* The value of the amin option must have three parts. */
#pragma D option amin=Stable/Stable
BEGIN { exit(0); }
