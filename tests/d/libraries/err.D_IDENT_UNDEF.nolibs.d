/*
 * With -x nolibs there are no libraries.
 * @flags: -x nolibs -L good
 */
BEGIN { trace(SIDES); exit(0); }
