/*
 * A version is lowered once and for all.
 * @flags: -x version=1.2
 */
#pragma D option version=1.3
BEGIN { exit(0); }
