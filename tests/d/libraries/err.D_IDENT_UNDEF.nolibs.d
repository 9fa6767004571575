/*
 * With -x nolibs, no libraries are loaded.
 * @flags: -x nolibs -L good
 */
BEGIN { trace(SIDES); exit(0); }
