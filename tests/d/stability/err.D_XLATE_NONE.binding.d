/*
 * Nor is a translator of a later version.
 * @flags: -L library -x version=1.5
 */
BEGIN { trace(xlate <lib_nice_t> ((struct lib_raw *)alloca(4)).b); exit(0); }
