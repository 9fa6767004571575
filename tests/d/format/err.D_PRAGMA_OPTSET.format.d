/*
 * A format is text, json or folded.
 */
#pragma D option format=xml
BEGIN { exit(0); }
