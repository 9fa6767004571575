/*
 * A format must be text, json or folded.
 */
#pragma D option format=xml
BEGIN { exit(0); }
