/* A version has two or three numbers. */
#pragma D option version=1
BEGIN { exit(0); }
