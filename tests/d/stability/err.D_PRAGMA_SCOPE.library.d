/*
 * A library's names keep their attributes.
 * @flags: -L library
 */
#pragma D attributes Private/Private/Unknown newer
BEGIN { exit(0); }
