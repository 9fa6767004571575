/* The version option accepts only a version of D that exists. */
#pragma D option version=2.0
BEGIN { exit(0); }
