/* The value of the version option must have two or three numbers. */
#pragma D option version=1
BEGIN { exit(0); }
