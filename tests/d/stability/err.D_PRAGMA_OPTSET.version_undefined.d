/* A version is one that has been. */
#pragma D option version=2.0
BEGIN { exit(0); }
