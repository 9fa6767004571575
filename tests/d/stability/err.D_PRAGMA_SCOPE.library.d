/*
 * #pragma D attributes cannot change the attributes of a library's names.
 * @flags: -L library
 */
#pragma D attributes Private/Private/Unknown newer
BEGIN { exit(0); }
