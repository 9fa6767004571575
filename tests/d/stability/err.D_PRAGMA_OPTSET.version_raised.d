/*
 * A version that has been lowered cannot be raised again.
 * @flags: -x version=1.2
 */
#pragma D option version=1.3
BEGIN { exit(0); }
