/*
 * A library's translator that is newer than -x version cannot be used.
 * @flags: -L library -x version=1.5
 */
BEGIN { trace(xlate <lib_nice_t> ((struct lib_raw *)alloca(4)).b); exit(0); }
