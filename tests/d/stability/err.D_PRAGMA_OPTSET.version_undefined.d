/* A version is an existing one. */
#pragma D option version=2.0
BEGIN { exit(0); }
